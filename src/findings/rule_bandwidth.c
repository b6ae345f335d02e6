/* findings/rule_bandwidth.c - layers that wait for memory and do not get what
 * it can give. */
#include "findings/evidence_internal.h"

/* What the leaves that memory bounds could save together, and the worst. */
static double sum_saved(const struct evidence *evidence, uint32_t *worst,
                        size_t *n)
{
    static const double far_below = 0.5;
    double sum = 0;

    *worst = RUN_NONE;
    *n = 0;
    for (uint32_t i = 0; i < evidence->bounds.n; i++) {
        const struct bound *bound = &evidence->bounds.items[i];

        if (bound->kind != BOUND_MEMORY || !(bound->share < far_below) ||
            run_scope(evidence->run, i)->first_child != RUN_NONE)
            continue;
        sum += bound->saved_ns;
        ++*n;
        if (*worst == RUN_NONE ||
            bound->saved_ns > evidence->bounds.items[*worst].saved_ns)
            *worst = i;
    }
    return sum;
}

void rule_bandwidth(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    uint32_t worst;
    size_t n;
    double saved = sum_saved(evidence, &worst, &n);
    char path[FINDING_PATH], time[FINDING_TIME];

    if (n == 0 || saved < worth_telling * evidence->iteration_ns)
        return;
    finding_say(finding, saved,
                "%zu layers that memory bounds get less than half of it: %s "
                "above their floor, %s with %.1f GB/s the most",
                n, evidence_time(time, evidence, saved),
                evidence_path(path, evidence, worst),
                evidence->bounds.items[worst].gbs);
    finding_help(finding, "a larger --batch reads weights once for more "
                          "images");
}
