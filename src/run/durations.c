/* run/durations.c - the times of a scope in the iterations that count. */
#include "run/compare_internal.h"
#include "run/run_internal.h"

#include "base/mem.h"

void chosen_release(struct chosen *chosen)
{
    mem_free(chosen->iterations);
    *chosen = (struct chosen){0};
}

enum assay_status chosen_find(const struct run *run, struct chosen *chosen,
                              struct error *err)
{
    size_t n = run->n_iterations_kept;

    chosen->iterations = mem_array(n, sizeof *chosen->iterations);
    if (!chosen->iterations)
        return error_nomem(err, n * sizeof *chosen->iterations,
                           "the iterations of a run");
    for (size_t i = 0; i < n; i++) {
        uint32_t iteration = run->iterations[i].index;

        if (run_iteration_counts(run, iteration))
            chosen->iterations[chosen->n++] = iteration;
    }
    return ASSAY_OK;
}

void durations_release(struct durations *durations)
{
    mem_free(durations->in_order);
    mem_free(durations->sorted);
    *durations = (struct durations){0};
}

/* The largest of the scope's cells: its points are of these iterations. */
static uint32_t durations_stride(const struct run *run, uint32_t scope)
{
    uint32_t stride = 1, id = RUN_NONE;

    while ((id = cell_next_of(run, scope, id)) != RUN_NONE) {
        if (run->cells[id].stride > stride)
            stride = run->cells[id].stride;
    }
    return stride;
}

/* Whether it was called in an iteration; calls outside are numbered by
 * themselves. */
static bool durations_are_inside(const struct run *run, uint32_t scope)
{
    uint32_t id = RUN_NONE;

    while ((id = cell_next_of(run, scope, id)) != RUN_NONE) {
        if (!run->cells[id].is_outside)
            return run_has_iterations(run);
    }
    return false;
}

static void durations_add(struct durations *durations,
                          const struct point *point)
{
    durations->in_order[durations->n++] = point ? point->total_ns : 0;
    durations->n_called += point != NULL;
}

/* An iteration without a call counts as 0, so that a tree of means adds up. */
static void durations_pick(struct durations *durations, const struct run *run,
                           uint32_t scope, const struct chosen *chosen,
                           const struct point *points, size_t n)
{
    uint32_t stride = durations_stride(run, scope);
    size_t at = 0;

    for (size_t i = 0; i < chosen->n; i++) {
        uint32_t iteration = chosen->iterations[i];

        if (!run_is_kept(iteration, stride))
            continue;
        while (at < n && points[at].iteration < iteration)
            at++;
        durations_add(durations, at < n && points[at].iteration == iteration
                                     ? &points[at]
                                     : NULL);
    }
}

/* The iterations that count and in which devices were timed. */
static void durations_pick_device(struct durations *durations,
                                  const struct chosen *chosen,
                                  const struct point *points, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < chosen->n; i++) {
        while (at < n && points[at].iteration < chosen->iterations[i])
            at++;
        if (at < n && points[at].iteration == chosen->iterations[i])
            durations_add(durations, &points[at]);
    }
}

enum assay_status durations_read(struct durations *durations,
                                 const struct run *run, uint32_t scope,
                                 bool is_device, const struct chosen *chosen,
                                 struct error *err)
{
    struct point *points;
    size_t n, room;
    enum assay_status st =
        is_device ? run_scope_device_points(run, scope, &points, &n, err)
                  : run_scope_points(run, scope, RUN_ANY, &points, &n, err);
    bool is_inside = is_device || durations_are_inside(run, scope);

    if (st)
        return st;
    room = is_inside ? chosen->n : n;
    durations->in_order = mem_array(room, sizeof *durations->in_order);
    durations->sorted = mem_array(room, sizeof *durations->sorted);
    if (!durations->in_order || !durations->sorted) {
        mem_free(points);
        return error_nomem(err, room * sizeof *durations->in_order,
                           "the iterations of a scope");
    }
    durations->is_outside = n > 0 && !is_inside && run_has_iterations(run);
    if (is_device)
        durations_pick_device(durations, chosen, points, n);
    else if (is_inside)
        durations_pick(durations, run, scope, chosen, points, n);
    for (size_t i = 0; !is_inside && i < n; i++)
        durations_add(durations, &points[i]);
    for (size_t i = 0; i < durations->n; i++)
        durations->sorted[i] = durations->in_order[i];
    location_sort(durations->sorted, durations->n);
    mem_free(points);
    return ASSAY_OK;
}
