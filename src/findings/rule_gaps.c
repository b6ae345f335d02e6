/* findings/rule_gaps.c - time between the ops of a model. */
#include "findings/evidence_internal.h"
#include "run/device_balance.h"

#include <string.h>

static bool gaps_has_modules(const struct run *run, uint32_t scope)
{
    uint32_t child = run_scope(run, scope)->first_child;

    while (child != RUN_NONE &&
           strcmp(run_scope(run, child)->class_name, RUN_KERNEL_CLASS) == 0)
        child = run_scope(run, child)->next_sibling;
    return child != RUN_NONE;
}

/* A module of the model that contains others. */
static bool gaps_is_container(const struct evidence *evidence, uint32_t scope,
                              const void *context)
{
    const struct run *run = evidence->run;
    uint32_t model = *(const uint32_t *)context, above = scope;

    while (above != RUN_NONE && above != model)
        above = run_scope(run, above)->parent;
    return above == model && gaps_has_modules(run, scope);
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
