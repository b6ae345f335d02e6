/* run/mean.c - means over the iterations that count, and how well they are
 * known. */
#include "run/run_internal.h"
#include "run/student.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Fewer values say too little about their spread. */
enum { fewest_for_interval = 5 };
/* Nor do values that are worth fewer independent ones than one more than this:
 * times that only rise. */
static const double fewest_free = 2;
/* Values that differ by less than this share of their mean are equal. */
static const double rounding = 1e-12;
/* Beyond this it is a trend rather than correlated noise. */
static const double most_correlation = 0.8;

/* The factor by which the variance of a mean grows if every value resembles the
 * one before (an AR(1) series). */
static double stats_inflation(double correlation)
{
    correlation = fmin(fmax(correlation, 0), most_correlation);
    return (1 + correlation) / (1 - correlation);
}

static void mean_fill_interval(struct mean *mean)
{
    double inflation = stats_inflation(mean->lag1);
    /* Correlated values are worth fewer independent ones. */
    double df = (double)mean->n / inflation - 1;
    double reach;

    if (df < fewest_free)
        return;
    reach = student_critical(0.05, df) * sqrt(mean->variance * inflation);
    mean->low = fmax(0, mean->mean - reach);
    mean->high = mean->mean + reach;
}

struct mean stats_mean(const double *values, size_t n)
{
    struct mean mean = {
        .n = n, .mean = NAN, .variance = NAN, .low = NAN, .high = NAN};
    double count = (double)n, sum = 0, squares = 0, products = 0, before = 0;

    if (n == 0)
        return mean;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    mean.mean = sum / count;
    if (n < 2)
        return mean;
    for (size_t i = 0; i < n; i++) {
        double away = values[i] - mean.mean;

        squares += away * away;
        products += i ? away * before : 0;
        before = away;
    }
    mean.variance = 0;
    if (squares > count * pow(rounding * mean.mean, 2)) {
        double lag1 = products / squares;

        mean.variance = squares / (count * (count - 1));
        /* The estimate is too low by about this much (Kendall 1954). */
        mean.lag1 = lag1 + (1 + 3 * lag1) / count;
    }
    if (n >= fewest_for_interval)
        mean_fill_interval(&mean);
    return mean;
}

bool stats_carries(uint64_t n, double q)
{
    static const double rounded = 1e-9;

    return (double)n * fmin(q, 1 - q) >= 1 - rounded;
}

/* ---- the values of a scope ----------------------------------------------- */

static int mean_compare_point(const void *key, const void *element)
{
    uint32_t a = *(const uint32_t *)key;
    uint32_t b = ((const struct point *)element)->iteration;

    return (a > b) - (a < b);
}

static double mean_value_in(const struct point *points, size_t n,
                            uint32_t iteration)
{
    const struct point *point =
        n ? bsearch(&iteration, points, n, sizeof *points, mean_compare_point)
          : NULL;

    return point ? (double)point->total_ns : 0;
}

size_t mean_values(const struct run *run, const struct point *points, size_t n,
                   uint32_t stride, double *values)
{
    size_t n_values = 0;

    for (size_t i = 0; i < run->n_iterations_kept; i++) {
        uint32_t iteration = run->iterations[i].index;

        if (run_is_kept(iteration, stride) &&
            run_iteration_counts(run, iteration))
            values[n_values++] = mean_value_in(points, n, iteration);
    }
    return n_values;
}
