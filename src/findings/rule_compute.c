/* findings/rule_compute.c - a layer of arithmetic far below the machine's
 * peak. */
#include "findings/evidence_internal.h"

/* The leaf of that kind with the most to save, below half of the peak. */
static uint32_t compute_find_worst(const struct evidence *evidence)
{
    static const double far_below = 0.5;
    uint32_t worst = RUN_NONE;

    for (uint32_t i = 0; i < evidence->bounds.n; i++) {
        const struct bound *bound = &evidence->bounds.items[i];

        if (bound->kind == BOUND_COMPUTE && bound->share < far_below &&
            run_scope(evidence->run, i)->first_child == RUN_NONE &&
            (worst == RUN_NONE ||
             bound->saved_ns > evidence->bounds.items[worst].saved_ns))
            worst = i;
    }
    return worst;
}

void rule_compute(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    uint32_t scope = compute_find_worst(evidence);
    const struct bound *bound;
    char path[FINDING_PATH], time[FINDING_TIME], share[UNITS_MAX];

    if (scope == RUN_NONE)
        return;
    bound = &evidence->bounds.items[scope];
    if (bound->saved_ns < worth_telling * evidence->iteration_ns)
        return;
    finding_say(finding, bound->saved_ns,
                "%s runs at %.0f GFLOP/s, %s of the peak: %s above its floor",
                evidence_path(path, evidence, scope), bound->done_gflops,
                units_percent(share, bound->share, 0),
                evidence_time(time, evidence, bound->saved_ns));
    finding_help(finding, "--explain says which kernel it got; --tune 10 "
                          "gives time to measure more of them");
}
