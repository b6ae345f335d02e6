/* bench/span_bench.c - what a span costs the measured program.
 *
 * Links libassay as a user's program does. */
#include "bench.h"

#include <assay.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A round of spans stays below the number that wakes the recorder's writer:
 * this times the span, not the writer. */
enum { n_rounds = 101, n_spans = 4000, n_calls = 100000, pause_us = 2000 };

static uint64_t read_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The cheapest time stamp on this machine. */
static inline uint64_t read_raw(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return read_clock();
#endif
}

__attribute__((noinline)) static void call_nothing(const char *text)
{
    __asm__ volatile("" : : "r"(text) : "memory");
}

static void two_stamps(int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t begin = read_raw();
        uint64_t end = read_raw();

        __asm__ volatile("" : : "r"(begin), "r"(end));
    }
}

static void two_calls(int n)
{
    for (int i = 0; i < n; i++) {
        call_nothing("span");
        call_nothing(NULL);
    }
}

static void one_span(int n)
{
    for (int i = 0; i < n; i++) {
        assay_begin("span");
        assay_end();
    }
}

static double time_of(void (*work)(int), int n)
{
    uint64_t since = read_clock();

    work(n);
    return (double)(read_clock() - since) / n;
}

static int compare_doubles(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static double median_of(double *values)
{
    qsort(values, n_rounds, sizeof *values, compare_doubles);
    return values[n_rounds / 2];
}

static assay_lane_t lane;
static assay_scope_t scope;

static void one_given(int n)
{
    int64_t begin_ns = assay_clock_ns();

    for (int i = 0; i < n; i++, begin_ns += 2)
        assay_span_at(lane, scope, begin_ns, begin_ns + 1, NULL);
}

static void one_handle(int n)
{
    for (int i = 0; i < n; i++) {
        assay_begin_scope(scope);
        assay_end();
    }
}

/* The median over rounds. */
static void measure(const char *what, void (*work)(int), int n, double bar_ns)
{
    double works[n_rounds];

    for (int i = 0; i < n_rounds; i++) {
        usleep(pause_us);
        works[i] = time_of(work, n);
    }
    bench_at_most(what, median_of(works), bar_ns, "ns");
}

/* One time against the other, in turn: the median over rounds. */
static void compare(const char *what, void (*work)(int), void (*yardstick)(int),
                    int n, double bar)
{
    double ratios[n_rounds], works[n_rounds], yardsticks[n_rounds];

    for (int i = 0; i < n_rounds; i++) {
        usleep(pause_us);
        yardsticks[i] = time_of(yardstick, n);
        works[i] = time_of(work, n);
        ratios[i] = works[i] / yardsticks[i];
    }
    bench_at_most(what, median_of(ratios), bar, "x");
    bench_note("  the span", median_of(works), "ns");
    bench_note("  the yardstick", median_of(yardsticks), "ns");
}

int main(void)
{
    struct assay_error error = {0};
    char path[64];

    compare("span, not recording / two empty calls", one_span, two_calls,
            n_calls, 1.5);
    snprintf(path, sizeof path, "/var/tmp/span_bench.%d.assay", (int)getpid());
    lane = assay_lane_open("queue", ASSAY_LANE_DEVICE);
    scope = assay_scope(ASSAY_SCOPE_ROOT, "given", NULL);
    if (assay_start(path, NULL, &error)) {
        fprintf(stderr, "span_bench: %s\n", error.text);
        return 1;
    }
    compare("span, recording / two time stamps", one_span, two_stamps, n_spans,
            2.5);
    compare("span by handle, recording / two time stamps", one_handle,
            two_stamps, n_spans, 2.5);
    measure("span added afterwards", one_given, n_spans, 200);
    if (assay_stop(&error)) {
        fprintf(stderr, "span_bench: %s\n", error.text);
        return 1;
    }
    remove(path);
    return bench_end();
}
