/* findings/rule_gaps.c - time between the ops of a model. */
#include "findings/evidence_internal.h"

/* A module of the model that contains others. */
static bool gaps_is_container(const struct evidence *evidence, uint32_t scope,
                              const void *context)
{
    const struct run *run = evidence->run;
    uint32_t model = *(const uint32_t *)context, above = scope;

    while (above != RUN_NONE && above != model)
        above = run_scope(run, above)->parent;
    return above == model && run_scope(run, scope)->first_child != RUN_NONE;
}

void rule_gaps(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.03;
    uint32_t model = run_model_scope(evidence->run);
    char time[FINDING_TIME];
    struct estimate gaps;

    if (model == RUN_NONE)
        return;
    gaps = evidence_sum(evidence, gaps_is_container, &model, EVIDENCE_SELF);
    if (!estimate_reaches(gaps, worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, gaps, "%s pass between the ops of the model",
                evidence_time(time, evidence, gaps));
}
