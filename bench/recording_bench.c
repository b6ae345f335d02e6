/* bench/recording_bench.c - what recording adds to a model.
 *
 * recording_bench [SECONDS]: for so long (40) Faster R-CNN runs on a small
 * photograph in pairs, once recorded, down to its ops, once passed over by the
 * same recording, the order changing from pair to pair. What drifts, and what
 * else the machine does, falls on both of a pair alike; the median of the
 * pairs' ratios is told with its interval. */
#include "bench.h"

#include "base/clock.h"
#include "detect/frame.h"
#include "record/record.h"
#include "run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One thread: what waits for another is not what recording costs. */
enum { n_threads = 1, side = 64, least_pairs = 20, most_pairs = 2000 };

struct detector {
    struct session session;
    struct frame frame;
};

static enum assay_status open_detector(struct detector *detector,
                                       struct error *err)
{
    struct detect_options options = {.model = "fasterrcnn_resnet50_fpn",
                                     .build = model_defaults(),
                                     .n_threads = n_threads,
                                     .detail = ENGINE_OPS,
                                     .tuning_seconds = 2};
    struct frame *frame = &detector->frame;
    enum assay_status st;

    options.build.min_size = side;
    frame->paths[0] = BENCH_SOURCE_DIR "/assets/coffee.jpg";
    frame->n = 1;
    st = session_open(&options, &detector->session, err);
    if (!st)
        st = frame_decode(frame, err);
    if (!st)
        st = frame_preprocess(frame, detector->session.pool, err);
    for (int i = 0; !st && i < 3; i++) /* chooses kernels, touches memory */
        st = frame_model(frame, &detector->session, false, err);
    return st;
}

static void close_detector(struct detector *detector)
{
    frame_release(&detector->frame);
    session_close(&detector->session);
}

/* One iteration; switching is no part of its time. */
static enum assay_status time_model(struct detector *detector, bool is_recorded,
                                    double *seconds, struct error *err)
{
    enum assay_status st;
    int64_t since;

    if (is_recorded)
        record_resume();
    else
        record_pause();
    since = clock_monotonic_ns();
    assay_iteration_begin();
    st = frame_model(&detector->frame, &detector->session, false, err);
    assay_iteration_end();
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    return st;
}

/* Ratios of recorded to bare, and the bare times. */
struct measured {
    double ratios[most_pairs], bare[most_pairs];
    size_t n;
};

static enum assay_status measure(struct detector *detector, double limit,
                                 struct measured *measured, struct error *err)
{
    int64_t until = clock_monotonic_ns() + (int64_t)(limit * 1e9);
    enum assay_status st = ASSAY_OK;

    while (!st && measured->n < most_pairs &&
           (measured->n < least_pairs || clock_monotonic_ns() < until)) {
        bool is_first = measured->n % 2;
        double seconds[2] = {1, 1}; /* bare, recorded */

        st = time_model(detector, is_first, &seconds[is_first], err);
        if (!st)
            st = time_model(detector, !is_first, &seconds[!is_first], err);
        measured->bare[measured->n] = seconds[0];
        measured->ratios[measured->n++] = seconds[1] / seconds[0];
    }
    return st;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double percent_above(double ratio)
{
    return 100 * (ratio - 1);
}

static void print(struct measured *measured)
{
    size_t n = measured->n, middle = n / 2;
    double low, high;

    qsort(measured->ratios, n, sizeof *measured->ratios, compare_numbers);
    qsort(measured->bare, n, sizeof *measured->bare, compare_numbers);
    stats_median_interval(measured->ratios, n, 0.95, &low, &high);
    bench_note("a model without recording", 1e3 * measured->bare[middle], "ms");
    bench_note("pairs with and without recording", (double)n, "");
    bench_at_most("what recording adds to a model",
                  percent_above(measured->ratios[middle]), 1, "%");
    bench_note("  from, with 95 % confidence", percent_above(low), "%");
    bench_note("  to", percent_above(high), "%");
}

int main(int argc, char **argv)
{
    static struct measured measured;
    double limit = argc > 1 ? strtod(argv[1], NULL) : 40;
    const char *parent = getenv("TMPDIR");
    struct detector detector = {0};
    struct error err = {0};
    enum assay_status st, stopped;
    char path[512];

    snprintf(path, sizeof path, "%s/recording_bench.%d.assay",
             parent ? parent : "/var/tmp", (int)getpid());
    st = record_start(path, NULL, &err);
    if (!st) {
        st = open_detector(&detector, &err);
        if (!st)
            st = measure(&detector, limit, &measured, &err);
        stopped = record_stop(st ? NULL : &err);
        st = st ? st : stopped;
    }
    remove(path);
    close_detector(&detector);
    if (st) {
        fprintf(stderr, "recording_bench: %s\n", err.text);
        return 1;
    }
    print(&measured);
    return bench_end();
}
