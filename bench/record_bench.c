/* bench/record_bench.c - long recordings: what is lost, and what they take.
 *
 * record_bench [SPANS]: so many spans (20 million) from eight threads, in
 * iterations; then a tenth of them with every sample kept. */
#include "bench.h"

#include "base/clock.h"
#include "base/mem.h"
#include "record/record.h"
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { n_threads = 8, n_iterations = 100, n_layers = 20, spans_a_layer = 3 };

static const double mib = 1024 * 1024;

static pthread_barrier_t barrier;

struct load {
    long n_spans; /* per thread and iteration */
};

/* Networks of layers, three spans each, until the count is reached. */
static void record_spans(long n_spans)
{
    static const char *const layers[n_layers] = {
        "layer0",  "layer1",  "layer2",  "layer3",  "layer4",
        "layer5",  "layer6",  "layer7",  "layer8",  "layer9",
        "layer10", "layer11", "layer12", "layer13", "layer14",
        "layer15", "layer16", "layer17", "layer18", "layer19"};

    for (long i = 0; i < n_spans / spans_a_layer; i++) {
        assay_begin(layers[i % n_layers]);
        assay_begin_class("conv", "Conv2d");
        assay_end();
        assay_begin_class("relu", "ReLU");
        assay_end();
        assay_end();
    }
}

static void *record_iterations(void *argument)
{
    const struct load *load = argument;

    for (int i = 0; i < n_iterations; i++) {
        pthread_barrier_wait(&barrier);
        record_spans(load->n_spans);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* Seconds from the start to the end of the stop. */
static enum assay_status record(const char *path, struct load load,
                                bool keeps_all, double *seconds,
                                struct error *err)
{
    struct assay_options options = {.keep_all = keeps_all};
    int64_t since = clock_monotonic_ns();
    enum assay_status st = record_start(path, &options, err);
    pthread_t threads[n_threads];

    if (st)
        return st;
    pthread_barrier_init(&barrier, NULL, n_threads + 1);
    for (int i = 0; i < n_threads; i++) {
        if (pthread_create(&threads[i], NULL, record_iterations, &load))
            return error_set(err, ASSAY_NOMEM, "no more threads");
    }
    for (int i = 0; i < n_iterations; i++) {
        assay_iteration_begin();
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        assay_iteration_end();
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    st = record_stop(err);
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    return st;
}

static double file_bytes(const char *path)
{
    struct stat info;

    return stat(path, &info) ? 0 : (double)info.st_size;
}

static uint64_t count_calls(const struct run *run)
{
    uint64_t n = 0;

    for (size_t i = 0; i < run_cell_count(run); i++) {
        if (run_cell(run, i)->scope != RUN_ROOT)
            n += run_cell(run, i)->calls.n;
    }
    return n;
}

static struct load load_of(long n_spans)
{
    long each = n_spans / n_threads / n_iterations;

    return (struct load){.n_spans = each - each % spans_a_layer};
}

static uint64_t total_of(struct load load)
{
    return (uint64_t)load.n_spans * n_threads * n_iterations;
}

static enum assay_status measure_summary(const char *path, struct load load,
                                         struct error *err)
{
    enum assay_status st;
    struct run *run;
    double seconds;
    int64_t since;

    mem_reset_peak();
    st = record(path, load, false, &seconds, err);
    if (st)
        return st;
    bench_note("8 threads, spans", (double)total_of(load), "");
    bench_note("8 threads, spans per second", (double)total_of(load) / seconds,
               "/s");
    bench_at_most("8 threads, memory of the recorder",
                  (double)mem_peak_bytes() / mib, 64, "MiB");
    bench_at_most("8 threads, run file", file_bytes(path) / 1e6, 5, "MB");
    since = clock_monotonic_ns();
    st = store_load(path, &run, err);
    if (st)
        return st;
    bench_at_most("8 threads, loading the run file",
                  (double)(clock_monotonic_ns() - since) / 1e9, 0.3, "s");
    bench_at_most("8 threads, spans lost",
                  (double)(total_of(load) - count_calls(run)) +
                      (double)run_health_of(run)->lost_spans,
                  0, "");
    run_free(run);
    return ASSAY_OK;
}

static enum assay_status measure_keeping(const char *path, struct load load,
                                         struct error *err)
{
    double seconds;
    enum assay_status st = record(path, load, true, &seconds, err);

    if (st)
        return st;
    bench_at_least("keeping all, samples into the file",
                   (double)total_of(load) / seconds / 1e6, 1, "M/s");
    bench_note("keeping all, bytes per sample",
               file_bytes(path) / (double)total_of(load), "");
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    long n_spans = argc > 1 ? strtol(argv[1], NULL, 10) : 20000000;
    const char *parent = getenv("TMPDIR");
    struct error err = {0};
    enum assay_status st;
    char path[512];

    snprintf(path, sizeof path, "%s/record_bench.%d.assay",
             parent ? parent : "/var/tmp", (int)getpid());
    st = measure_summary(path, load_of(n_spans), &err);
    remove(path);
    if (!st)
        st = measure_keeping(path, load_of(n_spans / 10), &err);
    remove(path);
    if (st)
        fprintf(stderr, "record_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
