/* run/device.c - what devices did for a scope and everything below it. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

/* A walk over the device cells of a scope and everything below it. */
struct device_walk {
    const struct run *run;
    uint32_t top, at; /* scopes */
    uint32_t phase;
    uint32_t cell;
    bool is_outside;
};

/* To the first child, the next sibling, or the next one further up; RUN_NONE at
 * the end. */
static uint32_t device_walk_step(const struct device_walk *walk)
{
    const struct scope *scopes = walk->run->scopes;
    uint32_t at = walk->at;

    if (scopes[at].first_child != RUN_NONE)
        return scopes[at].first_child;
    while (at != walk->top && scopes[at].next_sibling == RUN_NONE)
        at = scopes[at].parent;
    return at == walk->top ? RUN_NONE : scopes[at].next_sibling;
}

/* The next cell, or NULL. */
static const struct cell *device_walk_next(struct device_walk *walk)
{
    while (walk->at != RUN_NONE) {
        walk->cell = cell_next_of(walk->run, walk->at, walk->cell);
        if (walk->cell != RUN_NONE) {
            const struct cell *cell = &walk->run->cells[walk->cell];

            if (cell_is_device(walk->run, cell) &&
                cell->is_outside == walk->is_outside &&
                (walk->phase == RUN_ANY || walk->phase == cell->phase))
                return cell;
        } else {
            walk->at = device_walk_step(walk);
        }
    }
    return NULL;
}

/* Returns the largest stride of the cells: what all of them keep. counted: over
 * the iterations that count. */
static uint32_t device_add_sums(struct device_walk walk,
                                struct scope_stats *out,
                                struct cell_sums *counted)
{
    const struct cell *cell;
    uint32_t stride = 1;

    while ((cell = device_walk_next(&walk))) {
        double own_ns = run_cell_sums(walk.run, cell).self_ns;

        counted->total_ns += own_ns;
        counted->self_ns += cell->scope == walk.top ? own_ns : 0;
        out->calls += cell->calls.n;
        out->total_ns += (double)cell->self_ns;
        if (cell->iterations.n > out->n)
            out->n = cell->iterations.n;
        if (cell->scope == walk.top)
            out->self_ns += (double)cell->self_ns;
        if (cell->stride > stride)
            stride = cell->stride;
    }
    return stride;
}

static enum assay_status device_add_points(struct device_walk walk,
                                           uint32_t stride,
                                           struct point **points, size_t *n)
{
    const struct cell *cell;
    size_t capacity = 0;

    while ((cell = device_walk_next(&walk))) {
        if (!vec_grow(points, &capacity, *n + cell->n_points, sizeof **points))
            return ASSAY_NOMEM;
        for (size_t i = 0; i < cell->n_points; i++) {
            struct point point = cell->points[i];

            point.total_ns = point.self_ns;
            if (walk.is_outside || run_is_kept(point.iteration, stride))
                (*points)[(*n)++] = point;
        }
    }
    return ASSAY_OK;
}

static enum assay_status device_add_percentiles(struct device_walk walk,
                                                uint32_t stride,
                                                struct scope_stats *out,
                                                struct error *err)
{
    struct point *points = NULL;
    struct dist dist = {0};
    size_t n = 0;
    enum assay_status st = device_add_points(walk, stride, &points, &n);

    if (!st && !walk.is_outside)
        n = points_join(points, n);
    for (size_t i = 0; !st && i < n; i++)
        st = dist_add(&dist, points[i].total_ns);
    if (st)
        error_nomem(err, n * sizeof *points, "the statistics of a device");
    else
        st = stats_add_percentiles(out,
                                   &(struct stats_source){.run = walk.run,
                                                          .dist = &dist,
                                                          .points = points,
                                                          .n = n,
                                                          .stride = stride},
                                   err);
    dist_release(&dist);
    mem_free(points);
    return st;
}

enum assay_status run_scope_device_stats(const struct run *run, uint32_t scope,
                                         uint32_t phase,
                                         struct scope_stats *out,
                                         struct error *err)
{
    struct device_walk walk = {.run = run,
                               .top = scope,
                               .at = scope,
                               .phase = phase,
                               .cell = RUN_NONE};
    struct cell_sums counted = {0};
    enum assay_status st;
    uint32_t stride;

    *out = scope_stats_unknown();
    stride = device_add_sums(walk, out, &counted);
    if (out->calls == 0) {
        walk.is_outside = true;
        stride = device_add_sums(walk, out, &counted);
    }
    if (out->calls == 0)
        return ASSAY_OK;
    out->is_outside = walk.is_outside && run_has_iterations(run);
    stats_fill_means(run, out, &counted);
    st = device_add_percentiles(walk, stride, out, err);
    if (st)
        return st;
    out->calls_each = (double)out->calls / (double)out->n;
    if (!run_has_iterations(run) || out->is_outside)
        stats_fill_means(run, out, &counted);
    return ASSAY_OK;
}

bool run_has_device(const struct run *run)
{
    for (uint32_t i = 0; i < run->n_cells; i++) {
        if (!run->cells[i].is_outside && cell_is_device(run, &run->cells[i]) &&
            run->links[run->cells[i].scope].has_host)
            return true;
    }
    return false;
}

enum assay_status run_device_points(const struct run *run,
                                    struct point **points, size_t *n,
                                    struct error *err)
{
    return run_scope_device_points(run, RUN_ROOT, points, n, err);
}

enum assay_status run_scope_device_points(const struct run *run, uint32_t scope,
                                          struct point **points, size_t *n,
                                          struct error *err)
{
    struct device_walk walk = {.run = run,
                               .top = scope,
                               .at = scope,
                               .phase = RUN_ANY,
                               .cell = RUN_NONE};
    struct scope_stats ignored = scope_stats_unknown();
    struct cell_sums sums = {0};
    uint32_t stride = device_add_sums(walk, &ignored, &sums);

    *points = NULL;
    *n = 0;
    if (device_add_points(walk, stride, points, n)) {
        mem_free(*points);
        *points = NULL;
        return error_nomem(err, *n * sizeof **points, "a device's iterations");
    }
    *n = points_join(*points, *n);
    return ASSAY_OK;
}
