/* bench/train_bench.c - training steps compared with PyTorch: same sizes,
 * batches and threads, in turn; and the peak memory of both sides.
 *
 * train_bench [ROUNDS]: so many turns (5). train_bench --steps MODEL N: makes
 * so many steps, to measure their memory. */
#include "bench.h"
#include "learner.h"
#include "peer.h"

#include "base/clock.h"
#include "models/models.h"
#include "record/record.h"

#include <assay.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    n_threads = 2,
    n_classifier_images = 8,
    n_detector_images = 2,
    n_memory_steps = 2
};

static const struct {
    const char *model;
    double time_bar, memory_bar; /* against PyTorch's; 0: no bar */
} rows[] = {{"fasterrcnn_resnet50_fpn", 0.5, 0.7},
            {"resnet50", 0.7, 0},
            {"mobilenet_v2", 0.6, 0}};

enum { n_rows = sizeof rows / sizeof *rows };

static enum assay_status open_learner(struct learner *learner,
                                      const char *model, const char *choices,
                                      struct error *err)
{
    bool is_detector = model_task(model) == TASK_DETECTION;
    struct learner_options options = {
        .model = model,
        .n_images = is_detector ? n_detector_images : n_classifier_images,
        .device = device_cpu(),
        .n_threads = n_threads,
        .tuning_seconds = 30,
        .choices = choices};

    return learner_open(learner, &options, err);
}

/* ---- side by side
 * ------------------------------------------------------------ */

static enum assay_status compare_times(struct learner *learner,
                                       struct peer *peer, const char *model,
                                       int n_rounds, struct pairs *pairs,
                                       struct error *err)
{
    double theirs;
    long n;
    enum assay_status st = peer_ask(peer, model, &theirs, &n, err);

    for (int i = 0; !st && i < n_rounds; i++) {
        int64_t since;

        st = peer_ask(peer, model, &theirs, &n, err);
        if (st)
            break;
        since = clock_monotonic_ns();
        st = learner_step(learner, err);
        pairs_add(pairs, (double)(clock_monotonic_ns() - since) / 1e9, theirs);
    }
    return st;
}

static enum assay_status bench_time(size_t i, struct peer *peer,
                                    const char *choices, int n_rounds,
                                    struct error *err)
{
    struct pairs pairs = {0};
    struct learner learner;
    enum assay_status st = open_learner(&learner, rows[i].model, choices, err);

    /* Chooses kernels, touches memory. */
    for (int k = 0; !st && k < 2; k++)
        st = learner_step(&learner, err);
    if (!st)
        st =
            compare_times(&learner, peer, rows[i].model, n_rounds, &pairs, err);
    if (!st)
        bench_ratio(rows[i].model, &pairs, rows[i].time_bar, 1e3, "ms");
    learner_close(&learner);
    return st;
}

/* One step, recorded or not; its seconds. */
static enum assay_status time_step(struct learner *learner, bool is_recorded,
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
    st = learner_step(learner, err);
    assay_iteration_end();
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    record_resume();
    return st;
}

/* Recorded and bare steps in turn, alternating which comes first. */
static enum assay_status bench_recording(const char *choices, struct error *err)
{
    enum { n_turns = 40, warm_up = 2 };
    const char *run = "/var/tmp/assay-train-bench.assay";
    struct pairs pairs = {0};
    struct learner learner;
    enum assay_status st = open_learner(&learner, "resnet50", choices, err);

    if (!st && assay_start(run, NULL, NULL))
        st = error_set(err, ASSAY_IO, "cannot start a recording");
    for (int i = 0; !st && i < n_turns + warm_up; i++) {
        double seconds[2];

        st = time_step(&learner, i % 2, &seconds[i % 2], err);
        if (!st)
            st = time_step(&learner, !(i % 2), &seconds[!(i % 2)], err);
        if (!st && i >= warm_up)
            pairs_add(&pairs, seconds[1], seconds[0]);
    }
    assay_stop(NULL);
    unlink(run);
    if (!st) {
        double on, off, ratio = pairs_ratio(&pairs, &on, &off);

        bench_note("resnet50, bare", off * 1e3, "ms");
        bench_at_most("recording adds", (ratio - 1) * 100, 1, "%");
    }
    learner_close(&learner);
    return st;
}

static enum assay_status bench_memory(const char *self, size_t i,
                                      struct error *err)
{
    char steps[16];
    const char *ours[] = {self, "--steps", rows[i].model, steps, NULL};
    const char *theirs[] = {"/usr/bin/python3",
                            BENCH_SOURCE_DIR "/bench/train_peer.py",
                            "--steps",
                            rows[i].model,
                            steps,
                            NULL};
    struct child_cost our_cost, their_cost;
    struct pairs pairs = {0};
    enum assay_status st;

    snprintf(steps, sizeof steps, "%d", n_memory_steps);
    st = child_run(ours, &our_cost, err);
    if (!st)
        st = child_run(theirs, &their_cost, err);
    if (st)
        return st;
    pairs_add(&pairs, our_cost.peak_bytes, their_cost.peak_bytes);
    bench_ratio("peak memory of a step", &pairs, rows[i].memory_bar,
                1 / 1048576.0, "MiB");
    return ASSAY_OK;
}

static int make_steps(const char *model, int n)
{
    struct error err = {0};
    struct learner learner;
    enum assay_status st = open_learner(&learner, model, NULL, &err);

    for (int i = 0; !st && i < n; i++) {
        int64_t since = clock_monotonic_ns();

        st = learner_step(&learner, &err);
        if (!st)
            printf("step %d: %.3f s, loss %.4f\n", i + 1,
                   (double)(clock_monotonic_ns() - since) / 1e9, learner.loss);
    }
    if (st)
        fprintf(stderr, "train_bench: %s\n", err.text);
    else
        printf("pool peak %.0f MiB, held %.0f MiB\n",
               (double)pool_usage(learner.pool).peak_bytes / 1048576,
               (double)pool_usage(learner.pool).held_peak_bytes / 1048576);
    learner_close(&learner);
    return st ? 1 : 0;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    char choices[] = "/var/tmp/assay-train-XXXXXX", self[PATH_MAX] = "";
    struct error err = {0};
    struct peer peer;
    enum assay_status st;
    int file;

    if (argc == 4 && !strcmp(argv[1], "--steps"))
        return make_steps(argv[2], (int)strtol(argv[3], NULL, 10));
    file = mkstemp(choices);
    if (file < 0 || readlink("/proc/self/exe", self, sizeof self - 1) < 0) {
        perror("train_bench: a temporary file");
        return 1;
    }
    close(file);
    st = peer_start(&peer, "train_peer.py", "/var/tmp", &err);
    if (!st) {
        for (size_t i = 0; !st && i < n_rows; i++)
            st = bench_time(i, &peer, choices, n_rounds, &err);
        peer_stop(&peer);
        if (!st)
            st = bench_recording(choices, &err);
        for (size_t i = 0; !st && i < n_rows; i++) {
            if (rows[i].memory_bar > 0)
                st = bench_memory(self, i, &err);
        }
    }
    unlink(choices);
    if (st == ASSAY_NOT_FOUND) {
        printf("train_bench: skipped: %s\n", err.text);
        return 0;
    }
    if (st)
        fprintf(stderr, "train_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
