/* run/stats.c - from the cells of a scope to the numbers people read. */
#include "run/run_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <stdlib.h>

double stats_quantile(const double *sorted, size_t n, double q)
{
    double place, part;
    size_t below;

    if (n == 0)
        return NAN;
    place = q * (double)(n - 1);
    below = (size_t)place;
    part = place - (double)below;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

/* The widest rank r from 0 with P(X <= r) <= tail for X binomial(n, 1/2), the
 * terms built up in logs so that no n is too large. */
static size_t median_rank(size_t n, double tail)
{
    double log_term = -(double)n * log(2), sum = 0;
    size_t rank = 0;

    for (size_t i = 0; i < n / 2; i++) {
        sum += exp(log_term);
        if (sum > tail)
            break;
        rank = i;
        log_term += log((double)(n - i)) - log((double)(i + 1));
    }
    return rank;
}

void stats_median_interval(const double *sorted, size_t n, double confidence,
                           double *low, double *high)
{
    size_t rank;

    if (n == 0) {
        *low = *high = NAN;
        return;
    }
    rank = median_rank(n, (1 - confidence) / 2);
    *low = sorted[rank];
    *high = sorted[n - 1 - rank];
}

/* Which cells a question is about: the phase asked for; those outside the
 * iterations only where there is nothing inside; those of devices only where
 * there is nothing of the host, whose times are not added to a device's. */
struct choice {
    const struct run *run;
    uint32_t phase;
    bool is_outside, is_device;
};

static bool is_chosen(const struct choice *choice, const struct cell *cell)
{
    return cell->is_outside == choice->is_outside &&
           (choice->phase == RUN_ANY || choice->phase == cell->phase) &&
           cell_is_device(choice->run, cell) == choice->is_device;
}

static struct choice choose(const struct run *run, uint32_t scope,
                            uint32_t phase)
{
    struct choice choice = {
        .run = run, .phase = phase, .is_device = !run->links[scope].has_host};
    uint32_t id = RUN_NONE;

    while ((id = cell_next_of(run, scope, id)) != RUN_NONE) {
        if (is_chosen(&choice, &run->cells[id]))
            return choice;
    }
    choice.is_outside = true;
    return choice;
}

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;

    return (a->iteration > b->iteration) - (a->iteration < b->iteration);
}

size_t points_join(struct point *points, size_t n)
{
    size_t joined = 0;

    if (n)
        qsort(points, n, sizeof *points, compare_points);

    for (size_t i = 0; i < n; i++) {
        struct point *last = joined ? &points[joined - 1] : NULL;

        if (last && last->iteration == points[i].iteration) {
            last->calls += points[i].calls;
            last->total_ns += points[i].total_ns;
            last->self_ns += points[i].self_ns;
        } else {
            points[joined++] = points[i];
        }
    }
    return joined;
}

/* The points of the chosen cells that all of them would have kept. */
static enum assay_status gather_points(const struct run *run, uint32_t scope,
                                       const struct choice *choice,
                                       struct point **points, size_t *n,
                                       struct error *err)
{
    uint32_t stride = 1, id = RUN_NONE;
    size_t capacity = 0;

    *points = NULL;
    *n = 0;
    while ((id = cell_next_of(run, scope, id)) != RUN_NONE) {
        const struct cell *cell = &run->cells[id];

        if (is_chosen(choice, cell) && cell->stride > stride)
            stride = cell->stride;
    }
    while ((id = cell_next_of(run, scope, id)) != RUN_NONE) {
        const struct cell *cell = &run->cells[id];
        struct point *moved;

        if (!is_chosen(choice, cell))
            continue;
        moved = vec_reserve(*points, &capacity, *n + cell->n_points,
                            sizeof **points);
        if (!moved) {
            mem_free(*points);
            *points = NULL;
            return error_nomem(err, cell->n_points * sizeof **points,
                               "the iterations of a scope");
        }
        *points = moved;
        for (size_t i = 0; i < cell->n_points; i++) {
            if (choice->is_outside ||
                run_is_kept(cell->points[i].iteration, stride))
                moved[(*n)++] = cell->points[i];
        }
    }
    return ASSAY_OK;
}

static enum assay_status chosen_points(const struct run *run, uint32_t scope,
                                       const struct choice *choice,
                                       struct point **points, size_t *n,
                                       struct error *err)
{
    enum assay_status st = gather_points(run, scope, choice, points, n, err);

    if (st || !*n)
        return st;
    if (!choice->is_outside)
        *n = points_join(*points, *n);
    return ASSAY_OK;
}

enum assay_status run_scope_points(const struct run *run, uint32_t scope,
                                   uint32_t phase, struct point **points,
                                   size_t *n, struct error *err)
{
    struct choice choice = choose(run, scope, phase);

    return chosen_points(run, scope, &choice, points, n, err);
}

/* The distribution of an iteration's total. One cell knows its own exactly;
 * of several only the remembered iterations can be added up. */
static enum assay_status chosen_dist(const struct run *run, uint32_t scope,
                                     const struct choice *choice,
                                     struct dist *out, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct point *points;
    uint32_t id = RUN_NONE;
    size_t n_cells = 0, n;

    *out = (struct dist){0};
    while ((id = cell_next_of(run, scope, id)) != RUN_NONE)
        n_cells += is_chosen(choice, &run->cells[id]);
    if (n_cells == 1 || choice->is_outside) {
        while (!st && (id = cell_next_of(run, scope, id)) != RUN_NONE) {
            if (is_chosen(choice, &run->cells[id]))
                st = dist_merge(out, &run->cells[id].iterations);
        }
    } else {
        st = chosen_points(run, scope, choice, &points, &n, err);
        for (size_t i = 0; !st && i < n; i++)
            st = dist_add(out, points[i].total_ns);
        mem_free(points);
    }
    if (st) {
        dist_release(out);
        return error_nomem(err, sizeof *out, "the distribution of a scope");
    }
    return ASSAY_OK;
}

enum assay_status run_scope_dist(const struct run *run, uint32_t scope,
                                 uint32_t phase, struct dist *out,
                                 struct error *err)
{
    struct choice choice = choose(run, scope, phase);

    return chosen_dist(run, scope, &choice, out, err);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add_sums(const struct run *run, uint32_t scope,
                     const struct choice *choice, struct scope_stats *out)
{
    uint32_t id = RUN_NONE;

    while ((id = cell_next_of(run, scope, id)) != RUN_NONE) {
        const struct cell *cell = &run->cells[id];

        if (!is_chosen(choice, cell))
            continue;
        out->calls += cell->calls.n;
        out->total_ns += (double)cell->total_ns;
        out->self_ns += (double)cell->self_ns;
        out->bytes = larger(out->bytes, cell->bytes);
        out->peak_bytes = larger(out->peak_bytes, cell->peak_bytes);
        if (cell->iterations.n > out->n)
            out->n = cell->iterations.n;
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Percentiles: exact where every iteration is remembered, from the sketch
 * where only some are. The interval always comes from the remembered ones. */
static void fill_percentiles(struct scope_stats *out, const struct dist *dist,
                             const double *sorted, size_t n)
{
    bool is_exact = n == dist->n;

    out->median_ns =
        is_exact ? stats_quantile(sorted, n, 0.5) : dist_percentile(dist, 50);
    out->p5_ns =
        is_exact ? stats_quantile(sorted, n, 0.05) : dist_percentile(dist, 5);
    out->p95_ns =
        is_exact ? stats_quantile(sorted, n, 0.95) : dist_percentile(dist, 95);
    out->p99_ns =
        is_exact ? stats_quantile(sorted, n, 0.99) : dist_percentile(dist, 99);
    out->min_ns = (double)dist->min;
    out->max_ns = (double)dist->max;
    out->sd_ns = dist_sd(dist);
    stats_median_interval(sorted, n, 0.95, &out->median_low_ns,
                          &out->median_high_ns);
}

enum assay_status stats_add_percentiles(struct scope_stats *out,
                                        const struct dist *dist,
                                        const struct point *points, size_t n,
                                        struct error *err)
{
    double *values = mem_array(n, sizeof *values);

    if (!values)
        return error_nomem(err, n * sizeof *values,
                           "the statistics of a scope");
    for (size_t i = 0; i < n; i++)
        values[i] = (double)points[i].total_ns;
    qsort(values, n, sizeof *values, compare_doubles);
    fill_percentiles(out, dist, values, n);
    if (dist->n > out->n)
        out->n = dist->n;
    mem_free(values);
    return ASSAY_OK;
}

static enum assay_status add_percentiles(const struct run *run, uint32_t scope,
                                         const struct choice *choice,
                                         struct scope_stats *out,
                                         struct error *err)
{
    struct dist dist = {0};
    struct point *points = NULL;
    enum assay_status st;
    size_t n = 0;

    st = chosen_dist(run, scope, choice, &dist, err);
    if (!st)
        st = chosen_points(run, scope, choice, &points, &n, err);
    if (!st)
        st = stats_add_percentiles(out, &dist, points, n, err);
    mem_free(points);
    dist_release(&dist);
    return st;
}

/* A scope that only groups others lasts as long as they do: the sum over the
 * nearest called scopes below it. Children come after their parents, so the
 * walk goes down and along, and comes up by the parent. */
static void add_group(const struct run *run, uint32_t scope, uint32_t phase,
                      struct scope_stats *out)
{
    uint32_t at = run->scopes[scope].first_child;

    while (at != RUN_NONE) {
        struct choice choice = choose(run, at, phase);
        struct scope_stats below = {.bytes = RUN_UNKNOWN,
                                    .peak_bytes = RUN_UNKNOWN};

        add_sums(run, at, &choice, &below);
        if (below.calls && !(choice.is_outside && run_has_iterations(run))) {
            out->total_ns += below.total_ns;
            out->peak_bytes = larger(out->peak_bytes, below.peak_bytes);
        } else if (run->scopes[at].first_child != RUN_NONE) {
            at = run->scopes[at].first_child;
            continue;
        }
        while (at != scope && run->scopes[at].next_sibling == RUN_NONE)
            at = run->scopes[at].parent;
        at = at == scope ? RUN_NONE : run->scopes[at].next_sibling;
    }
}

struct scope_stats scope_stats_unknown(void)
{
    return (struct scope_stats){.mean_ns = NAN,
                                .sd_ns = NAN,
                                .mean_self_ns = NAN,
                                .median_ns = NAN,
                                .median_low_ns = NAN,
                                .median_high_ns = NAN,
                                .p5_ns = NAN,
                                .p95_ns = NAN,
                                .p99_ns = NAN,
                                .min_ns = NAN,
                                .max_ns = NAN,
                                .bytes = RUN_UNKNOWN,
                                .peak_bytes = RUN_UNKNOWN};
}

enum assay_status run_scope_stats(const struct run *run, uint32_t scope,
                                  uint32_t phase, struct scope_stats *out,
                                  struct error *err)
{
    struct choice choice = choose(run, scope, phase);
    double n_means;

    *out = scope_stats_unknown();
    add_sums(run, scope, &choice, out);
    if (out->calls) {
        enum assay_status st = add_percentiles(run, scope, &choice, out, err);

        if (st)
            return st;
        out->calls_each = (double)out->calls / (double)out->n;
        out->is_outside = choice.is_outside && run_has_iterations(run);
    } else {
        add_group(run, scope, phase, out);
    }
    n_means = run_has_iterations(run) && !out->is_outside
                  ? (double)run->n_iterations
                  : (double)(out->n ? out->n : 1);
    out->mean_ns = out->total_ns / n_means;
    out->mean_self_ns = out->self_ns / n_means;
    return ASSAY_OK;
}
