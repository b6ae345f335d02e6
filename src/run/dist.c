/* run/dist.c - count, moments and percentiles of some values. */
#include "run/run.h"

#include <math.h>

void dist_release(struct dist *dist)
{
    sketch_release(&dist->sketch);
    *dist = (struct dist){0};
}

/* Welford's update: stays accurate when the values are large and close
 * together, as durations in nanoseconds are. */
enum assay_status dist_add(struct dist *dist, int64_t value)
{
    enum assay_status st = sketch_add(&dist->sketch, value, 1);
    double delta;

    if (st)
        return st;
    if (dist->n == 0 || value < dist->min)
        dist->min = value;
    if (dist->n == 0 || value > dist->max)
        dist->max = value;
    dist->n++;
    delta = (double)value - dist->mean;
    dist->mean += delta / (double)dist->n;
    dist->m2 += delta * ((double)value - dist->mean);
    return ASSAY_OK;
}

/* Merges two sets of moments (Chan, Golub, LeVeque 1979). */
enum assay_status dist_merge(struct dist *into, const struct dist *from)
{
    double n = (double)into->n, m = (double)from->n;
    double delta = from->mean - into->mean;
    enum assay_status st;

    if (from->n == 0)
        return ASSAY_OK;
    st = sketch_merge(&into->sketch, &from->sketch);
    if (st)
        return st;
    if (into->n == 0 || from->min < into->min)
        into->min = from->min;
    if (into->n == 0 || from->max > into->max)
        into->max = from->max;
    into->mean += delta * m / (n + m);
    into->m2 += from->m2 + delta * delta * n * m / (n + m);
    into->n += from->n;
    return ASSAY_OK;
}

double dist_sd(const struct dist *dist)
{
    return dist->n < 2 ? 0 : sqrt(dist->m2 / (double)(dist->n - 1));
}

/* The sketch is accurate to 0.8 %; the extremes are exact. */
double dist_percentile(const struct dist *dist, double percent)
{
    double value = sketch_quantile(&dist->sketch, percent / 100);

    if (value < (double)dist->min)
        return (double)dist->min;
    return value > (double)dist->max ? (double)dist->max : value;
}
