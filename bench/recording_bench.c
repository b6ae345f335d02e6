/* bench/recording_bench.c - what recording adds to a model.
 *
 * recording_bench [SECONDS]: for so long (40), and up to five times longer
 * while the answer is uncertain, Faster R-CNN runs on a small photograph in
 * rounds of three: recorded, down to its ops and bytes; also observed, with the
 * figures of its content and of the machine; and ignored by the same recording.
 * The order changes from round to round, so that drift and other load affect
 * all of a round alike; the medians of the ratios come with their intervals. */
#include "bench.h"

#include "base/clock.h"
#include "record/record.h"
#include "run/run.h"
#include "session/observer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One thread: waiting for another is not a cost of recording. */
enum { n_threads = 1, side = 64, least_rounds = 20, most_rounds = 4000 };

enum way { BARE, RECORDED, OBSERVED, N_WAYS };

struct detector {
    struct session session;
    struct frame frame;
    struct intake intake;
    struct intake_size size;
    struct observer observer;
    uint32_t n_observed;
};

static enum assay_status open_detector(struct detector *detector,
                                       struct error *err)
{
    struct session_options options = {.model.name = "fasterrcnn_resnet50_fpn",
                                      .model.build = model_defaults(),
                                      .n_threads = n_threads,
                                      .detail = ENGINE_OPS,
                                      .tuning_seconds = 2};
    struct frame *frame = &detector->frame;
    enum assay_status st;

    options.model.build.min_size = side;
    frame->paths[0] = BENCH_SOURCE_DIR "/assets/coffee.jpg";
    frame->n = 1;
    detector->size = (struct intake_size){side, side};
    detector->intake = (struct intake){
        .paths = frame->paths, .sizes = &detector->size, .n = 1};
    st = observer_open(&detector->observer, &detector->intake, err);
    if (!st)
        st = session_open(&options, &detector->session, err);
    if (!st)
        st = frame_decode(frame, err);
    if (!st)
        st = frame_preprocess(frame, &detector->session, err);
    for (int i = 0; !st && i < 3; i++) /* chooses kernels, touches memory */
        st = frame_model(frame, &detector->session, err);
    return st;
}

static void close_detector(struct detector *detector)
{
    frame_release(&detector->frame);
    session_close(&detector->session);
    observer_close(&detector->observer);
}

/* One iteration; switching is not part of its time. */
static enum assay_status time_model(struct detector *detector, enum way way,
                                    double *seconds, struct error *err)
{
    enum assay_status st;
    int64_t since;

    if (way == BARE)
        record_pause();
    else
        record_resume();
    since = clock_monotonic_ns();
    if (way == OBSERVED)
        observer_begin(&detector->observer);
    assay_iteration_begin();
    st = frame_model(&detector->frame, &detector->session, err);
    assay_iteration_end();
    if (!st && way == OBSERVED)
        st = observer_end(&detector->observer, detector->n_observed++, 0, 1,
                          NAN, &detector->session, err);
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    return st;
}

/* The bare times, and the ratios of the others to them. */
struct measured {
    double values[N_WAYS][most_rounds];
    size_t n;
};

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Whether the interval of a ratio separates one per cent from none. */
static bool is_certain(const struct measured *measured, enum way way)
{
    static double sorted[most_rounds];
    double low, high;

    memcpy(sorted, measured->values[way], measured->n * sizeof *sorted);
    qsort(sorted, measured->n, sizeof *sorted, compare_numbers);
    stats_median_interval(sorted, measured->n, 0.95, &low, &high);
    return high - low < 0.01;
}

static bool is_enough(const struct measured *measured, double limit,
                      double seconds)
{
    if (measured->n == most_rounds)
        return true;
    if (measured->n < least_rounds || seconds < limit)
        return false;
    return seconds >= 5 * limit ||
           (is_certain(measured, RECORDED) && is_certain(measured, OBSERVED));
}

static enum assay_status measure(struct detector *detector, double limit,
                                 struct measured *measured, struct error *err)
{
    int64_t begin = clock_monotonic_ns();
    enum assay_status st = ASSAY_OK;

    while (!st && !is_enough(measured, limit,
                             (double)(clock_monotonic_ns() - begin) / 1e9)) {
        double seconds[N_WAYS] = {1, 1, 1};

        for (size_t i = 0; !st && i < N_WAYS; i++) {
            enum way way = (enum way)((measured->n + i) % N_WAYS);

            st = time_model(detector, way, &seconds[way], err);
        }
        measured->values[BARE][measured->n] = seconds[BARE];
        for (int way = RECORDED; way < N_WAYS; way++)
            measured->values[way][measured->n] = seconds[way] / seconds[BARE];
        measured->n++;
    }
    return st;
}

static double percent_above(double ratio)
{
    return 100 * (ratio - 1);
}

static void print_cost(struct measured *measured, enum way way,
                       const char *what, double limit)
{
    double *ratios = measured->values[way], low, high;
    size_t n = measured->n;

    qsort(ratios, n, sizeof *ratios, compare_numbers);
    stats_median_interval(ratios, n, 0.95, &low, &high);
    bench_at_most(what, percent_above(ratios[n / 2]), limit, "%");
    bench_note("  from, with 95 % confidence", percent_above(low), "%");
    bench_note("  to", percent_above(high), "%");
}

static void print(struct measured *measured)
{
    double *bare = measured->values[BARE];
    size_t n = measured->n;

    qsort(bare, n, sizeof *bare, compare_numbers);
    bench_note("a model without recording", 1e3 * bare[n / 2], "ms");
    bench_note("rounds with and without recording", (double)n, "");
    print_cost(measured, RECORDED, "time recording adds to a model", 1);
    print_cost(measured, OBSERVED, "  with figures of content and machine",
               1.5);
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
