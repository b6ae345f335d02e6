/* findings/rule_latency.c - a part that neither arithmetic nor memory explains:
 * small steps, waiting, a single thread. */
#include "findings/evidence_internal.h"

#include <string.h>

/* Many small calls that together touch more data than a cache holds, such as an
 * optimizer's, may find none of it there: then memory explains them all
 * together, though not each of them. */
static bool latency_may_stream(const struct evidence *evidence, uint32_t scope)
{
    static const double least_explained = 1.0 / 3;
    const struct bound *bound = &evidence->bounds.items[scope];
    double memory_ns = bound->done_bytes /
                       peaks_gbs(&evidence->bounds.peaks, bound->done_bytes);

    return memory_ns >= bound->time_ns * least_explained;
}

/* Not for a whole model: its parts say more. */
static bool latency_is_bound(const struct evidence *evidence, uint32_t scope)
{
    return scope != RUN_ROOT && scope != run_model_scope(evidence->run) &&
           !evidence->has_device &&
           evidence->bounds.items[scope].kind == BOUND_LATENCY &&
           !latency_may_stream(evidence, scope);
}

/* Only outermost scopes: what is inside is part of them. */
static bool latency_is_outermost(const struct evidence *evidence,
                                 uint32_t scope)
{
    return latency_is_bound(evidence, scope) &&
           !latency_is_bound(evidence, run_scope(evidence->run, scope)->parent);
}

static bool latency_is_below(const struct run *run, uint32_t scope,
                             uint32_t above)
{
    while (scope != RUN_NONE && scope != above)
        scope = run_scope(run, scope)->parent;
    return scope == above;
}

/* Whether layers of one class, which rule_bandwidth.c reports, are half of
 * what is unexplained. */
static bool latency_is_of_class(const struct evidence *evidence, uint32_t scope,
                                const struct layer_group *group)
{
    const struct bound *bounds = evidence->bounds.items;
    double sum = 0;

    for (uint32_t i = 0; group->class_name && i < evidence->bounds.n; i++) {
        const struct scope *at = run_scope(evidence->run, i);

        if (at->first_child == RUN_NONE &&
            strcmp(at->class_name, group->class_name) == 0 &&
            bounds[i].saved_ns > 0 && latency_is_below(evidence->run, i, scope))
            sum += bounds[i].saved_ns;
    }
    return sum >= bounds[scope].saved_ns / 2;
}

static uint32_t latency_worst(const struct evidence *evidence)
{
    struct layer_group group = evidence_worst_class(evidence, false);
    const struct bound *bounds = evidence->bounds.items;
    uint32_t worst = RUN_NONE;

    for (uint32_t i = 0; i < evidence->bounds.n; i++) {
        if (latency_is_outermost(evidence, i) &&
            (worst == RUN_NONE ||
             bounds[i].saved_ns > bounds[worst].saved_ns) &&
            !latency_is_of_class(evidence, i, &group))
            worst = i;
    }
    return worst;
}

void rule_latency(const struct evidence *evidence, struct finding *finding)
{
    static const double worth_telling = 0.01;
    uint32_t scope = latency_worst(evidence);
    char path[FINDING_PATH], time[FINDING_TIME], share[UNITS_MAX];
    const struct bound *bound;
    struct estimate total, saved;

    if (scope == RUN_NONE)
        return;
    bound = &evidence->bounds.items[scope];
    total = evidence_ns(evidence, scope);
    saved = estimate_plus(total, bound->saved_ns - bound->time_ns);
    if (!estimate_reaches(saved, worth_telling * evidence->iteration_ns))
        return;
    finding_say(finding, saved,
                "%s takes %s, of which its arithmetic and memory explain %s",
                evidence_path(path, evidence, scope),
                evidence_time(time, evidence, total),
                units_percent(share, bound->share, 0));
}
