/* run/location.c - the iterations of one run reduced to one value, robustly.
 *
 * A trimmed mean of the logs: a fifth at each end does not count, so that
 * interrupted iterations do not decide. Its variance comes from the winsorised
 * values (Yuen 1974). */
#include "run/compare_internal.h"

#include <math.h>
#include <stdlib.h>

/* The share left out at each end. */
static const double trim = 0.2;
/* Logs of equal values differ from their mean by less than this. */
static const double rounding = 1e-12;

static int compare_values(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

static size_t n_trimmed(size_t n)
{
    return (size_t)(trim * (double)n);
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Traces in microseconds have only multiples of 1000; a slow counter has few
 * different values, with gaps between them. */
double location_tick_ns(const int64_t *sorted, size_t n)
{
    int64_t divisor = 1000, gap = 0;

    for (size_t i = 0; i < n; i++)
        divisor = greatest_divisor(divisor, sorted[i]);
    for (size_t i = n_trimmed(n) + 1; i < n - n_trimmed(n); i++) {
        int64_t step = sorted[i] - sorted[i - 1];

        if (step && (!gap || step < gap))
            gap = step;
    }
    return (double)(gap > divisor ? gap : divisor);
}

void location_sort(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_values);
}

/* A duration shorter than half a tick is that at most. */
static double log_of(int64_t value, double tick_ns)
{
    double ns = (double)value;

    return log(ns < tick_ns / 2 ? tick_ns / 2 : ns);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

struct location location_of(const int64_t *sorted, const int64_t *in_order,
                            size_t n, double tick_ns)
{
    size_t g = n_trimmed(n);
    double h = (double)(n - 2 * g), count = (double)n;
    int64_t low = sorted[g], high = sorted[n - 1 - g];
    double sum = 0, mean, squares = 0, products = 0, before = 0, tick;
    struct location location = {.n = n, .df = h - 1};

    for (size_t i = g; i < n - g; i++)
        sum += log_of(sorted[i], tick_ns);
    location.center = sum / h;
    mean = (sum + (double)g * (log_of(low, tick_ns) + log_of(high, tick_ns))) /
           count;
    for (size_t i = 0; i < n; i++) {
        double away = log_of(clamp(in_order[i], low, high), tick_ns) - mean;

        squares += away * away;
        products += i ? away * before : 0;
        before = away;
    }
    if (squares > count * rounding * rounding) {
        double lag1 = products / squares;

        location.variance = squares / (h * (h - 1));
        /* The estimate is too low by about this much (Kendall 1954). */
        location.lag1 = lag1 + (1 + 3 * lag1) / count;
    }
    tick = tick_ns / exp(location.center);
    location.tick = tick * tick / 12;
    return location;
}
