/* findings/rule_gaps.c - time that passes between the ops of a model. */
#include "findings/evidence_internal.h"

/* What modules that hold others took themselves. */
static double sum_gaps(const struct evidence *evidence, uint32_t model)
{
    const struct run *run = evidence->run;
    double sum = 0;

    for (uint32_t i = 1; i < run_scope_count(run); i++) {
        uint32_t above = i;

        while (above != RUN_NONE && above != model)
            above = run_scope(run, above)->parent;
        if (above == model && run_scope(run, i)->first_child != RUN_NONE &&
            evidence->stats[i].calls && !evidence->stats[i].is_outside)
            sum += evidence->stats[i].mean_self_ns;
    }
    return sum;
}

void rule_gaps(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.03;
    uint32_t model = run_model_scope(evidence->run);
    char time[FINDING_TIME];
    double gaps;

    if (model == RUN_NONE)
        return;
    gaps = sum_gaps(evidence, model);
    if (gaps < worth_telling * evidence->iteration_ns)
        return;
    finding_say(finding, gaps, "%s pass between the ops of the model",
                evidence_time(time, evidence, gaps));
    finding_help(finding, "ops are too short for their number: larger batches "
                          "or images make them longer");
}
