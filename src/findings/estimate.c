/* findings/estimate.c - figures per iteration, and how well they are known. */
#include "findings/evidence_internal.h"

#include "base/mem.h"

#include <math.h>

struct estimate estimate_of(const double *values, size_t n)
{
    struct mean mean = stats_mean(values, n);
    double reach = mean.high - mean.mean; /* NaN if they are too few */

    return (struct estimate){mean.mean, mean.mean - reach, mean.mean + reach};
}

struct estimate estimate_plus(struct estimate estimate, double number)
{
    return (struct estimate){estimate.mean + number, estimate.low + number,
                             estimate.high + number};
}

struct estimate estimate_times(struct estimate estimate, double factor)
{
    double low = estimate.low * factor, high = estimate.high * factor;

    return (struct estimate){estimate.mean * factor, fmin(low, high),
                             fmax(low, high)};
}

bool estimate_reaches(struct estimate estimate, double least)
{
    return estimate.low >= least;
}

/* Adds the times of a scope to those of the iterations that count; returns how
 * many these are. */
static size_t estimate_add_points(const struct run *run,
                                  const struct point *points, size_t n,
                                  enum evidence_time which, double *values)
{
    size_t at = 0, n_values = 0;

    for (size_t i = 0; i < run_iterations_kept(run); i++) {
        uint32_t iteration = run_iteration(run, i)->index;

        if (!run_iteration_counts(run, iteration))
            continue;
        while (at < n && points[at].iteration < iteration)
            at++;
        if (at < n && points[at].iteration == iteration)
            values[n_values] +=
                (double)(which == EVIDENCE_SELF ? points[at].self_ns
                                                : points[at].total_ns);
        n_values++;
    }
    return n_values;
}

/* The mean of the statistics, which is exact, with the interval of the kept
 * iterations around it. If memory runs out, nothing is known. */
struct estimate evidence_sum(const struct evidence *evidence,
                             evidence_filter *accepts, const void *context,
                             enum evidence_time which)
{
    const struct run *run = evidence->run;
    double *values = mem_array(run_iterations_kept(run), sizeof *values);
    size_t n = estimate_add_points(run, NULL, 0, which, NULL);
    double mean = 0;
    struct estimate sum = {NAN, NAN, NAN};
    bool is_complete = values != NULL;

    for (uint32_t i = 0; is_complete && i < run_scope_count(run); i++) {
        const struct scope_stats *stats = &evidence->stats[i];
        struct point *points;
        size_t n_points;

        if (!accepts(evidence, i, context) || !stats->calls ||
            stats->is_outside)
            continue;
        is_complete =
            !run_scope_points(run, i, RUN_ANY, &points, &n_points, NULL);
        if (!is_complete)
            break;
        estimate_add_points(run, points, n_points, which, values);
        mem_free(points);
        mean += which == EVIDENCE_SELF ? stats->mean_self_ns : stats->mean_ns;
    }
    if (is_complete) {
        sum = estimate_of(values, n);
        sum = estimate_plus(sum, mean - sum.mean);
    }
    mem_free(values);
    return sum;
}

static bool estimate_is_scope(const struct evidence *evidence, uint32_t scope,
                              const void *context)
{
    (void)evidence;
    return scope == *(const uint32_t *)context;
}

struct estimate evidence_ns(const struct evidence *evidence, uint32_t scope)
{
    if (scope == RUN_NONE)
        return (struct estimate){0};
    return evidence_sum(evidence, estimate_is_scope, &scope, EVIDENCE_TOTAL);
}

struct estimate evidence_series(const struct evidence *evidence,
                                const char *name)
{
    const struct series *series = run_series_find(evidence->run, name);
    double values[RUN_MAX_POINTS];
    size_t n = 0;

    if (!series)
        return (struct estimate){NAN, NAN, NAN};
    for (size_t i = 0; i < series->n_points; i++) {
        if (run_iteration_counts(evidence->run, series->points[i].iteration))
            values[n++] = series->points[i].value;
    }
    return estimate_of(values, n);
}
