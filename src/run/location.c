/* run/location.c - reduces the iterations of one run to one value: their mean,
 * and one without a fifth at each end, whose variance comes from the winsorised
 * values (Yuen 1974). */
#include "run/compare_internal.h"

#include <math.h>
#include <stdlib.h>

/* The share left out at each end. */
static const double trim = 0.2;
/* Equal values differ from their mean by less than this, relative to it. */
static const double rounding = 1e-12;

static int location_compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static size_t location_n_trimmed(size_t n)
{
    return (size_t)(trim * (double)n);
}

static int64_t location_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Traces in microseconds have only multiples of 1000; a slow counter has few
 * distinct values, with gaps between them. Where no value repeats, gaps are
 * only how far apart the iterations were. */
double location_tick_ns(const int64_t *sorted, size_t n)
{
    int64_t divisor = 1000, gap = 0;
    bool has_ties = false;

    for (size_t i = 0; i < n; i++)
        divisor = location_divisor(divisor, sorted[i]);
    for (size_t i = location_n_trimmed(n) + 1; i < n - location_n_trimmed(n);
         i++) {
        int64_t step = sorted[i] - sorted[i - 1];

        has_ties |= step == 0;
        if (step && (!gap || step < gap))
            gap = step;
    }
    return (double)(has_ties && gap > divisor ? gap : divisor);
}

void location_sort(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, location_compare);
}

/* What values by time say about the precision of a centre: `kept` of them count
 * in it. */
struct spread {
    double squares, products, before, count;
};

static void spread_add(struct spread *spread, double away)
{
    spread->squares += away * away;
    spread->products += spread->count > 0 ? away * spread->before : 0;
    spread->before = away;
    spread->count++;
}

static struct centre spread_centre(const struct spread *spread, double log,
                                   double kept)
{
    struct centre centre = {.log = log, .df = kept - 1};

    if (spread->squares > spread->count * rounding * rounding) {
        double lag1 = spread->products / spread->squares;

        centre.variance = spread->squares / (kept * (kept - 1));
        /* The estimate is too low by about this much (Kendall 1954). */
        centre.lag1 = lag1 + (1 + 3 * lag1) / spread->count;
    }
    return centre;
}

/* The variance of the log of a mean is that of the mean relative to it. A mean
 * below half a tick counts as half a tick. */
static struct centre location_mean(const struct durations *durations,
                                   double tick_ns)
{
    struct spread spread = {0};
    double mean = 0, base;

    for (size_t i = 0; i < durations->n; i++)
        mean += (double)durations->in_order[i] / (double)durations->n;
    base = fmax(mean, tick_ns / 2);
    for (size_t i = 0; i < durations->n; i++)
        spread_add(&spread, ((double)durations->in_order[i] - mean) / base);
    return spread_centre(&spread, log(base), (double)durations->n);
}

static double location_log(int64_t value, double tick_ns)
{
    return log(fmax((double)value, tick_ns / 2));
}

static int64_t location_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static struct centre location_trimmed(const struct durations *durations,
                                      double tick_ns)
{
    size_t n = durations->n, g = location_n_trimmed(n);
    int64_t low = durations->sorted[g], high = durations->sorted[n - 1 - g];
    double kept = (double)(n - 2 * g), sum = 0, mean;
    struct spread spread = {0};

    for (size_t i = g; i < n - g; i++)
        sum += location_log(durations->sorted[i], tick_ns);
    mean = (sum + (double)g * (location_log(low, tick_ns) +
                               location_log(high, tick_ns))) /
           (double)n;
    for (size_t i = 0; i < n; i++)
        spread_add(&spread, location_log(location_clamp(durations->in_order[i],
                                                        low, high),
                                         tick_ns) -
                                mean);
    return spread_centre(&spread, sum / kept, kept);
}

/* A scope that is not called in every iteration is judged by its mean alone. */
struct location location_of(const struct durations *durations, double tick_ns)
{
    struct location location = {.n = durations->n,
                                .centres[CENTRE_MEAN] =
                                    location_mean(durations, tick_ns)};
    double tick = tick_ns / exp(location.centres[CENTRE_MEAN].log);

    for (size_t i = 0; i < durations->n; i++)
        location.sample_ns +=
            (double)durations->in_order[i] / (double)durations->n;
    location.tick = tick * tick / 12;
    location.centres[CENTRE_TRIMMED] =
        durations->n_called == durations->n
            ? location_trimmed(durations, tick_ns)
            : location.centres[CENTRE_MEAN];
    return location;
}
