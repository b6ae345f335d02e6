/* findings/layer_group.c - layers of one class, taken together. */
#include "findings/evidence_internal.h"

#include <math.h>
#include <string.h>

static const double far_below = 0.5, worth_telling = 0.01;

/* A layer of the class (the context) that takes more than twice what the
 * machine needs for it. */
static bool group_has(const struct evidence *evidence, uint32_t scope,
                      const void *context)
{
    const struct bound *bound = &evidence->bounds.items[scope];
    const struct scope *at = run_scope(evidence->run, scope);

    return bound->kind != BOUND_UNKNOWN && bound->share < far_below &&
           at->first_child == RUN_NONE && at->class_name[0] &&
           strcmp(at->class_name, context) == 0;
}

/* Whether their arithmetic needs longer than moving their data. */
static bool group_is_compute(const struct evidence *evidence,
                             const struct layer_group *group)
{
    const struct peaks *peaks = &evidence->bounds.peaks;

    return group->bound.done_flops / peaks->gflops >
           group->bound.done_bytes /
               peaks_gbs(peaks, group->bound.done_bytes / (double)group->n);
}

static struct layer_group group_of(const struct evidence *evidence,
                                   const char *class_name)
{
    const struct bound *bounds = evidence->bounds.items;
    struct layer_group group = {
        .class_name = class_name, .bound = bound_unknown(), .worst = RUN_NONE};
    double parameters = 0;

    for (uint32_t i = 0; i < evidence->bounds.n; i++) {
        const struct scope_work *work = run_work(evidence->run, i);

        if (!group_has(evidence, i, class_name))
            continue;
        group.n++;
        bound_add(&group.bound, &bounds[i]);
        if (work && work->parameters > 0)
            parameters += work->parameters;
        if (group.worst == RUN_NONE ||
            bounds[i].saved_ns > bounds[group.worst].saved_ns)
            group.worst = i;
    }
    group.parameter_share =
        group.n ? parameters * (double)sizeof(float) / group.bound.done_bytes
                : 0;
    return group;
}

struct layer_group evidence_worst_class(const struct evidence *evidence,
                                        bool is_compute)
{
    struct layer_group worst = {0};

    /* Bounds are of the device's time, evidence is of the host's. */
    if (evidence->has_device)
        return worst;
    for (uint32_t i = 0; i < evidence->bounds.n; i++) {
        const char *class_name = run_scope(evidence->run, i)->class_name;
        struct layer_group group;

        if (!group_has(evidence, i, class_name) ||
            (worst.class_name && strcmp(worst.class_name, class_name) == 0))
            continue;
        group = group_of(evidence, class_name);
        if (group_is_compute(evidence, &group) == is_compute &&
            (!worst.class_name || group.bound.saved_ns > worst.bound.saved_ns))
            worst = group;
    }
    if (!worst.class_name)
        return worst;
    worst.time =
        evidence_sum(evidence, group_has, worst.class_name, EVIDENCE_SELF);
    worst.saved = estimate_plus(worst.time, -worst.bound.floor_ns);
    if (!estimate_reaches(worst.saved, worth_telling * evidence->iteration_ns))
        return (struct layer_group){0};
    return worst;
}
