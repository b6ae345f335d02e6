/* run/stats.c - from the cells of a scope to the numbers people read. */
#include "run/run_internal.h"

#include "base/doubles.h"
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

/* The largest rank r with P(X <= r) <= tail for X binomial(n, 1/2), or 0. The
 * terms are computed in logs so that no n is too large. */
static size_t stats_median_rank(size_t n, double tail)
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

    if (pow(0.5, (double)n) > (1 - confidence) / 2) {
        *low = *high = NAN;
        return;
    }
    rank = stats_median_rank(n, (1 - confidence) / 2);
    *low = sorted[rank];
    *high = sorted[n - 1 - rank];
}

/* Which cells of a scope a question is about: the phase asked for; those
 * outside the iterations only if there are none inside; those of devices only
 * if there are none of the host, because the two times are never added up. */
struct choice {
    const struct run *run;
    uint32_t scope, phase;
    bool is_outside, is_device;
};

/* The next chosen cell after one, from NULL to NULL. */
static const struct cell *choice_next(const struct choice *choice,
                                      const struct cell *cell)
{
    const struct run *run = choice->run;
    uint32_t id = cell ? (uint32_t)(cell - run->cells) : RUN_NONE;

    while ((id = cell_next_of(run, choice->scope, id)) != RUN_NONE) {
        cell = &run->cells[id];
        if (cell->is_outside == choice->is_outside &&
            (choice->phase == RUN_ANY || choice->phase == cell->phase) &&
            cell_is_device(run, cell) == choice->is_device)
            return cell;
    }
    return NULL;
}

static struct choice choice_make(const struct run *run, uint32_t scope,
                                 uint32_t phase)
{
    struct choice choice = {.run = run,
                            .scope = scope,
                            .phase = phase,
                            .is_device = !run->links[scope].has_host};

    choice.is_outside = !choice_next(&choice, NULL);
    return choice;
}

static int points_compare(const void *left, const void *right)
{
    const struct point *a = left, *b = right;

    return (a->iteration > b->iteration) - (a->iteration < b->iteration);
}

size_t points_join(struct point *points, size_t n)
{
    size_t joined = 0;

    if (n)
        qsort(points, n, sizeof *points, points_compare);

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

/* Of the iterations that all chosen cells would have kept. */
static uint32_t choice_stride(const struct choice *choice)
{
    const struct cell *cell = NULL;
    uint32_t stride = 1;

    while ((cell = choice_next(choice, cell)))
        stride = cell->stride > stride ? cell->stride : stride;
    return stride;
}

/* The points of the chosen cells that all of them would have kept; those of one
 * iteration are joined. */
static enum assay_status choice_points(const struct choice *choice,
                                       struct point **points, size_t *n,
                                       struct error *err)
{
    uint32_t stride = choice_stride(choice);
    const struct cell *cell = NULL;
    size_t capacity = 0;

    *points = NULL;
    *n = 0;
    while ((cell = choice_next(choice, cell))) {
        if (!vec_grow(points, &capacity, *n + cell->n_points,
                      sizeof **points)) {
            mem_free(*points);
            *points = NULL;
            return error_nomem(err, cell->n_points * sizeof **points,
                               "the iterations of a scope");
        }
        for (size_t i = 0; i < cell->n_points; i++) {
            if (choice->is_outside ||
                run_is_kept(cell->points[i].iteration, stride))
                (*points)[(*n)++] = cell->points[i];
        }
    }
    if (!choice->is_outside)
        *n = points_join(*points, *n);
    return ASSAY_OK;
}

enum assay_status run_scope_points(const struct run *run, uint32_t scope,
                                   uint32_t phase, struct point **points,
                                   size_t *n, struct error *err)
{
    struct choice choice = choice_make(run, scope, phase);

    return choice_points(&choice, points, n, err);
}

/* The distribution of an iteration's total. One cell has its own exactly; for
 * several only the kept iterations can be added up. */
static enum assay_status choice_dist(const struct choice *choice,
                                     struct dist *out, struct error *err)
{
    const struct cell *cell = choice_next(choice, NULL);
    enum assay_status st = ASSAY_OK;
    struct point *points;
    size_t n;

    *out = (struct dist){0};
    if (choice->is_outside || !cell || !choice_next(choice, cell)) {
        for (; !st && cell; cell = choice_next(choice, cell))
            st = dist_merge(out, &cell->iterations);
    } else {
        st = choice_points(choice, &points, &n, err);
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

static int64_t stats_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* counted: over the iterations that count. */
static void choice_add_sums(const struct choice *choice,
                            struct scope_stats *out, struct cell_sums *counted)
{
    const struct cell *cell = NULL;

    while ((cell = choice_next(choice, cell))) {
        struct cell_sums sums = run_cell_sums(choice->run, cell);

        counted->total_ns += sums.total_ns;
        counted->self_ns += sums.self_ns;
        out->calls += cell->calls.n;
        out->total_ns += (double)cell->total_ns;
        out->self_ns += (double)cell->self_ns;
        out->bytes = stats_larger(out->bytes, cell->bytes);
        out->peak_bytes = stats_larger(out->peak_bytes, cell->peak_bytes);
        if (cell->iterations.n > out->n)
            out->n = cell->iterations.n;
    }
}

/* Exact if every iteration was kept, otherwise from the sketch. */
static double stats_percentile(const struct dist *dist, const double *sorted,
                               size_t n, double percent)
{
    if (percent != 50 && !stats_carries(dist->n, percent / 100))
        return NAN;
    return n == dist->n ? stats_quantile(sorted, n, percent / 100)
                        : dist_percentile(dist, percent);
}

/* The interval always comes from the kept iterations. */
static void stats_fill_percentiles(struct scope_stats *out,
                                   const struct dist *dist,
                                   const double *sorted, size_t n)
{
    out->median_ns = stats_percentile(dist, sorted, n, 50);
    out->p5_ns = stats_percentile(dist, sorted, n, 5);
    out->p95_ns = stats_percentile(dist, sorted, n, 95);
    out->p99_ns = stats_percentile(dist, sorted, n, 99);
    out->min_ns = (double)dist->min;
    out->max_ns = (double)dist->max;
    out->sd_ns = dist_sd(dist);
    stats_median_interval(sorted, n, 0.95, &out->median_low_ns,
                          &out->median_high_ns);
}

/* The interval of the mean; mean_ns is known and, for a run with more
 * iterations than are kept, more exact than that of the kept ones. */
static void stats_fill_mean_interval(struct scope_stats *out,
                                     const double *values, size_t n)
{
    struct mean mean = stats_mean(values, n);

    out->mean_low_ns = fmax(0, out->mean_ns - (mean.mean - mean.low));
    out->mean_high_ns = out->mean_ns + (mean.high - mean.mean);
    if (isnan(mean.low))
        out->mean_low_ns = NAN;
}

enum assay_status stats_add_percentiles(struct scope_stats *out,
                                        const struct stats_source *source,
                                        struct error *err)
{
    const struct dist *dist = source->dist;
    const struct point *points = source->points;
    size_t n = source->n, n_kept = source->run->n_iterations_kept;
    double *values = mem_array(n > n_kept ? n : n_kept, sizeof *values);

    if (!values)
        return error_nomem(err, n * sizeof *values,
                           "the statistics of a scope");
    if (run_has_iterations(source->run) && !out->is_outside)
        stats_fill_mean_interval(
            out, values,
            mean_values(source->run, points, n, source->stride, values));
    for (size_t i = 0; i < n; i++)
        values[i] = (double)points[i].total_ns;
    doubles_sort(values, n);
    stats_fill_percentiles(out, dist, values, n);
    if (dist->n > out->n)
        out->n = dist->n;
    mem_free(values);
    return ASSAY_OK;
}

static enum assay_status choice_add_percentiles(const struct choice *choice,
                                                struct scope_stats *out,
                                                struct error *err)
{
    struct stats_source source = {.run = choice->run,
                                  .stride = choice_stride(choice)};
    struct point *points = NULL;
    struct dist dist = {0};
    enum assay_status st;

    st = choice_dist(choice, &dist, err);
    if (!st)
        st = choice_points(choice, &points, &source.n, err);
    source.dist = &dist;
    source.points = points;
    if (!st)
        st = stats_add_percentiles(out, &source, err);
    mem_free(points);
    dist_release(&dist);
    return st;
}

/* A group lasts as long as what it groups: the sum over the nearest called
 * scopes below it. */
static void stats_add_group(const struct run *run, uint32_t scope,
                            uint32_t phase, struct scope_stats *out,
                            struct cell_sums *counted)
{
    uint32_t at = run->scopes[scope].first_child;

    while (at != RUN_NONE) {
        struct choice choice = choice_make(run, at, phase);
        struct scope_stats below = {.bytes = RUN_UNKNOWN,
                                    .peak_bytes = RUN_UNKNOWN};
        struct cell_sums below_counted = {0};

        choice_add_sums(&choice, &below, &below_counted);
        if (below.calls && !(choice.is_outside && run_has_iterations(run))) {
            out->total_ns += below.total_ns;
            counted->total_ns += below_counted.total_ns;
            out->peak_bytes = stats_larger(out->peak_bytes, below.peak_bytes);
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
                                .mean_low_ns = NAN,
                                .mean_high_ns = NAN,
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

void stats_fill_means(const struct run *run, struct scope_stats *out,
                      const struct cell_sums *counted)
{
    double n = run_has_iterations(run) && !out->is_outside
                   ? (double)run->n_counted
                   : (double)(out->n ? out->n : 1);

    out->mean_ns = counted->total_ns / n;
    out->mean_self_ns = counted->self_ns / n;
}

enum assay_status run_scope_stats(const struct run *run, uint32_t scope,
                                  uint32_t phase, struct scope_stats *out,
                                  struct error *err)
{
    struct choice choice = choice_make(run, scope, phase);
    struct cell_sums counted = {0};
    enum assay_status st;

    *out = scope_stats_unknown();
    choice_add_sums(&choice, out, &counted);
    out->is_outside =
        out->calls && choice.is_outside && run_has_iterations(run);
    if (!out->calls)
        stats_add_group(run, scope, phase, out, &counted);
    stats_fill_means(run, out, &counted);
    if (!out->calls)
        return ASSAY_OK;
    st = choice_add_percentiles(&choice, out, err);
    if (st)
        return st;
    out->calls_each = (double)out->calls / (double)out->n;
    if (!run_has_iterations(run) || out->is_outside)
        stats_fill_means(run, out, &counted);
    return ASSAY_OK;
}
