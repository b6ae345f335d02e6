/* bench/import_bench.c - how fast a trace is imported, and in how much memory.
 *
 * import_bench [MEGABYTES]: writes a trace of that size (300) whose events are
 * shuffled in time, imports it and removes it. */
#include "bench.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "store/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    n_threads = 6,
    n_trees = 130,       /* with three operators each */
    steps_every = 20000, /* events per iteration */
    shuffled = 4096,     /* events that swap places with each other */
    bar_mb_per_s = 150,
    bar_peak_mb = 500
};

/* Event n of the trace in order of time: three levels deep on every thread. */
static void write_event(struct sink *sink, uint64_t n, struct random *random)
{
    uint64_t slot = n / n_threads, thread = n % n_threads;
    uint64_t start_ns = slot / 3 * 30000 + slot % 3 * 1000;
    uint64_t duration_ns = 26000 - slot % 3 * 8000 + random_below(random, 900);

    sink_printf(sink,
                ",\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": "
                "\"aten::operator_%" PRIu64
                "\", \"pid\": 4037, \"tid\": %" PRIu64 ",\n    \"ts\": %" PRIu64
                ".%03" PRIu64 ", \"dur\": %" PRIu64 ".%03" PRIu64
                ",\n    \"args\": {\n      \"External id\": %" PRIu64
                ", \"Ev Idx\": %" PRIu64 "\n    }\n  }",
                slot / 3 % n_trees * 3 + slot % 3, 4037 + thread,
                UINT64_C(1682725898082228) + start_ns / 1000, start_ns % 1000,
                duration_ns / 1000, duration_ns % 1000, n, n);
}

static void write_step(struct sink *sink, uint64_t index)
{
    uint64_t length_us = (uint64_t)steps_every / n_threads / 3 * 30;

    sink_printf(sink,
                "%s\n  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", "
                "\"name\": \"ProfilerStep#%" PRIu64
                "\", \"pid\": 4037, \"tid\": 4036,\n    \"ts\": %" PRIu64
                ", \"dur\": %" PRIu64 "\n  }",
                index ? "," : "", index,
                UINT64_C(1682725898082228) + index * length_us, length_us);
}

static enum assay_status write_trace(const char *path, uint64_t bytes,
                                     struct error *err)
{
    struct random random = random_seed(1);
    struct output *output;
    enum assay_status st = output_open(path, &output, err);
    uint64_t n_events = 0;
    struct sink *sink;

    if (st)
        return st;
    sink = output_sink(output);
    sink_puts(sink, "{\n\"schemaVersion\": 1,\n\"traceEvents\": [");
    for (uint64_t block = 0; sink->written < bytes; block++) {
        uint64_t turn = random_below(&random, shuffled) | 1;

        for (uint64_t i = 0; i < shuffled; i++) {
            uint64_t n = block * shuffled + i * turn % shuffled;

            if (n_events % steps_every == 0)
                write_step(sink, n_events / steps_every);
            write_event(sink, n, &random);
            n_events++;
        }
    }
    sink_puts(sink, "\n]}\n");
    return output_commit(output, err);
}

static double processor_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static enum assay_status measure(const char *path, double megabytes,
                                 struct error *err)
{
    double processor = processor_seconds();
    int64_t began_ns = clock_monotonic_ns();
    struct rusage usage;
    struct run *run;
    enum assay_status st = import_trace(path, NULL, &run, err);
    double seconds = (double)(clock_monotonic_ns() - began_ns) / 1e9;
    double peak_mb;

    if (st)
        return st;
    processor = processor_seconds() - processor;
    getrusage(RUSAGE_SELF, &usage);
    peak_mb = (double)usage.ru_maxrss * 1024 / 1e6;
    bench_note("import, events", strtod(run_fact(run, "import.events"), NULL),
               "");
    bench_note("import, speed by processor time", megabytes / processor,
               "MB/s");
    bench_at_least("import, speed", megabytes / seconds, bar_mb_per_s, "MB/s");
    bench_at_most("import, peak memory", peak_mb, bar_peak_mb, "MB");
    run_free(run);
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    double megabytes = argc > 1 ? strtod(argv[1], NULL) : 300;
    const char *parent = getenv("TMPDIR");
    char folder[512], path[600];
    struct error err = {0};
    enum assay_status st;

    snprintf(folder, sizeof folder, "%s/assay-bench-XXXXXX",
             parent ? parent : "/var/tmp");
    if (!mkdtemp(folder)) {
        perror("import_bench: a temporary folder");
        return 1;
    }
    snprintf(path, sizeof path, "%s/trace.json", folder);
    st = write_trace(path, (uint64_t)(megabytes * 1e6), &err);
    if (!st)
        st = measure(path, megabytes, &err);
    unlink(path);
    rmdir(folder);
    if (st)
        fprintf(stderr, "import_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
