/* bench/cuda_train_bench.c - training steps on a GPU compared with PyTorch on
 * the same one, in turn: times, peak memory, and the cost of recording.
 *
 * cuda_train_bench [ROUNDS [WORD]]: so many turns (15), only rows whose name
 * has that word. cuda_train_bench --steps MODEL BATCH N [PRECISION]: makes so
 * many steps, and says what each took, how much memory there was, which values
 * moved and which kernels were chosen. PyTorch is that of the python3
 * that ASSAY_BENCH_PYTHON names. Skipped where there is no GPU. */
#include "bench.h"
#include "learner.h"
#include "peer.h"

#include "backend/cuda/cuda_internal.h"
#include "base/clock.h"
#include "record/record.h"

#include <assay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct row {
    const char *what, *model, *job, *row_job, *memory_job;
    int64_t batch;
    double time_bar, memory_bar; /* against PyTorch's */
} rows[] = {
    {"Faster R-CNN, batch 2", "fasterrcnn_resnet50_fpn",
     "fasterrcnn_resnet50_fpn 2", "row fasterrcnn_resnet50_fpn 2",
     "memory fasterrcnn_resnet50_fpn 2", 2, 0.5, 0.7},
    {"Faster R-CNN, batch 8", "fasterrcnn_resnet50_fpn",
     "fasterrcnn_resnet50_fpn 8", "row fasterrcnn_resnet50_fpn 8",
     "memory fasterrcnn_resnet50_fpn 8", 8, 0.6, 0.7},
    {"ResNet-50, batch 64", "resnet50", "resnet50 64", "row resnet50 64",
     "memory resnet50 64", 64, 0.9, 0.7},
};

static enum assay_status open_row(struct learner *learner, const char *model,
                                  int64_t batch, enum precision precision,
                                  const struct device *gpu, struct error *err)
{
    struct learner_options options = {.model = model,
                                      .n_images = batch,
                                      .device = gpu,
                                      .precision = precision,
                                      .n_threads = 16,
                                      .tuning_seconds = 10,
                                      .choices = "in the cache"};

    return learner_open(learner, &options, err);
}

/* A step and the end of all that it queued; its seconds. */
static enum assay_status time_step(struct learner *learner, double *seconds,
                                   struct error *err)
{
    int64_t since = clock_monotonic_ns();
    enum assay_status st = learner_step(learner, err);

    if (!st)
        st = engine_finish(learner->engine, err);
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    return st;
}

/* Several in a row, with one wait at the end; the seconds of each. PyTorch's
 * side does the same. */
static enum assay_status time_row(struct learner *learner, double *seconds,
                                  struct error *err)
{
    enum { n_steps = 8 };
    int64_t since = clock_monotonic_ns();
    enum assay_status st = ASSAY_OK;

    for (int i = 0; !st && i < n_steps; i++)
        st = learner_step(learner, err);
    if (!st)
        st = engine_finish(learner->engine, err);
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9 / n_steps;
    return st;
}

static enum assay_status warm_up(struct learner *learner, struct error *err)
{
    enum { n_steps = 4 }; /* chooses kernels, takes memory */
    enum assay_status st = ASSAY_OK;
    double seconds;

    for (int i = 0; !st && i < n_steps; i++)
        st = time_step(learner, &seconds, err);
    return st;
}

/* ---- side by side -------------------------------------------------------- */

/* What a process of its own takes from the driver for some steps. */
static enum assay_status child_memory(const struct row *row, double *bytes,
                                      struct error *err)
{
    char self[1024] = "", command[1400], line[256];
    double found = 0;
    FILE *from;

    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return error_set(err, ASSAY_IO, "where is this program?");
    snprintf(command, sizeof command, "'%s' --steps %s %lld 3", self,
             row->model, (long long)row->batch);
    from = popen(command, "r");
    if (!from)
        return error_set(err, ASSAY_IO, "%s does not start", self);
    while (fgets(line, sizeof line, from)) {
        const char *at = strstr(line, "driver ");

        if (at)
            found = strtod(at + strlen("driver "), NULL);
    }
    *bytes = found * 1048576;
    if (pclose(from) || !(found > 0))
        return error_set(err, ASSAY_IO, "%s failed", command);
    return ASSAY_OK;
}

/* One step at a time, and several in a row, both in turn with PyTorch. */
static enum assay_status bench_times(const struct row *row, struct peer *peer,
                                     struct learner *learner, int n_rounds,
                                     struct error *err)
{
    struct pairs each = {0}, in_a_row = {0};
    double ours, theirs;
    enum assay_status st = ASSAY_OK;
    long n;

    for (int i = 0; !st && i < n_rounds; i++) {
        st = peer_ask(peer, row->job, &theirs, &n, err);
        if (!st)
            st = time_step(learner, &ours, err);
        if (!st)
            pairs_add(&each, ours, theirs);
        if (!st)
            st = peer_ask(peer, row->row_job, &theirs, &n, err);
        if (!st)
            st = time_row(learner, &ours, err);
        if (!st)
            pairs_add(&in_a_row, ours, theirs);
    }
    if (st)
        return st;
    bench_ratio(row->what, &each, row->time_bar, 1e3, "ms");
    bench_ratio("  in a row", &in_a_row, row->time_bar, 1e3, "ms");
    return ASSAY_OK;
}

static enum assay_status bench_row(const struct row *row, struct peer *peer,
                                   const struct device *gpu, int n_rounds,
                                   struct error *err)
{
    struct pairs memory = {0};
    struct learner learner;
    double ours = 0, theirs = 0;
    long n;
    enum assay_status st =
        open_row(&learner, row->model, row->batch, PRECISION_TF32, gpu, err);

    if (!st)
        st = warm_up(&learner, err);
    if (!st)
        st = bench_times(row, peer, &learner, n_rounds, err);
    learner_close(&learner);
    if (!st)
        st = peer_ask(peer, row->memory_job, &theirs, &n, err);
    if (!st)
        st = child_memory(row, &ours, err);
    if (!st) {
        pairs_add(&memory, ours, theirs);
        bench_ratio("  peak memory of the device", &memory, row->memory_bar,
                    1 / 1048576.0, "MiB");
    }
    return st;
}

/* ---- recording ----------------------------------------------------------- */

static enum assay_status time_recorded(struct learner *learner,
                                       bool is_recorded, double *seconds,
                                       struct error *err)
{
    enum assay_status st;

    if (is_recorded)
        record_resume();
    else
        record_pause();
    assay_iteration_begin();
    st = time_step(learner, seconds, err);
    assay_iteration_end();
    record_resume();
    return st;
}

/* Recorded and bare steps in turn, alternating which comes first. */
static enum assay_status bench_recording(const struct device *gpu,
                                         struct error *err)
{
    enum { n_turns = 40 };
    const char *run = "/var/tmp/assay-cuda-train-bench.assay";
    struct pairs pairs = {0};
    struct learner learner;
    enum assay_status st =
        open_row(&learner, "resnet50", 64, PRECISION_TF32, gpu, err);

    if (!st && assay_start(run, NULL, NULL))
        st = error_set(err, ASSAY_IO, "cannot start a recording");
    if (!st)
        st = warm_up(&learner, err);
    for (int i = 0; !st && i < n_turns; i++) {
        double seconds[2];

        st = time_recorded(&learner, i % 2, &seconds[i % 2], err);
        if (!st)
            st = time_recorded(&learner, !(i % 2), &seconds[!(i % 2)], err);
        if (!st)
            pairs_add(&pairs, seconds[1], seconds[0]);
    }
    assay_stop(NULL);
    unlink(run);
    if (!st) {
        double on, off, ratio = pairs_ratio(&pairs, &on, &off);

        bench_note("ResNet-50, bare", off * 1e3, "ms");
        bench_at_most("recording adds", (ratio - 1) * 100, 2, "%");
    }
    learner_close(&learner);
    return st;
}

/* ---- by hand ------------------------------------------------------------- */

/* The modules that had most when the most was live. */
static void show_modules(const struct learner *learner)
{
    enum { most_shown = 12 };
    struct pool *pool = engine_pool(learner->engine);
    size_t below = SIZE_MAX;

    for (int shown = 0; shown < most_shown; shown++) {
        size_t most = 0;
        uint32_t owner = OWNER_MODULE;

        for (uint32_t i = OWNER_MODULE; i < pool_owner_count(pool); i++) {
            size_t bytes = pool_peak_of(pool, i);

            if (bytes > most && bytes < below) {
                most = bytes;
                owner = i;
            }
        }
        if (!most)
            return;
        printf(
            "  %6.0f MiB %s\n", (double)most / 1048576,
            owner == OWNER_MODULE
                ? "the model"
                : graph_scope(learner->graph, owner - OWNER_MODULE - 1)->path);
        below = most;
    }
}

/* Who had the memory when the most was live. */
static void show_peak(const struct learner *learner)
{
    static const char *const names[OWNER_MODULE] = {
        [OWNER_OTHER] = "other",           [OWNER_WEIGHTS] = "weights",
        [OWNER_PACKED] = "packed weights", [OWNER_SCRATCH] = "scratch",
        [OWNER_IMAGES] = "images",         [OWNER_GRADIENTS] = "gradients",
        [OWNER_OPTIMIZER] = "optimizer",
    };
    struct pool *pool = engine_pool(learner->engine);

    printf("peak:");
    for (uint32_t i = 0; i < OWNER_MODULE; i++)
        printf(" %s %.0f", names[i], (double)pool_peak_of(pool, i) / 1048576);
    printf(" MiB, and of modules (of equal ones, one):\n");
    show_modules(learner);
}

static void show_choices(const struct learner *learner)
{
    struct backend *backend = engine_backend(learner->engine);
    struct str text = {0};
    struct sink sink = sink_to_str(&text);

    engine_explain_moves(learner->engine, &sink);
    for (size_t i = 0; i < graph_node_count(learner->graph); i++) {
        const struct node *node = graph_node(learner->graph, i);

        if (!backend->class->kernel(backend, node, i))
            continue;
        sink_printf(&sink, "%s %s\n",
                    node->scope == GRAPH_NONE
                        ? ""
                        : graph_scope(learner->graph, node->scope)->path,
                    node->op->name);
        backend->class->explain(backend, node, i, &sink);
    }
    printf("%s", str_text(&text));
    str_release(&text);
}

static enum precision precision_of(const char *word)
{
    for (enum precision i = PRECISION_FP32; word && i <= PRECISION_BF16; i++) {
        if (!strcmp(word, precision_name(i)))
            return i;
    }
    return PRECISION_TF32;
}

static int make_steps(char **words, const struct device *gpu)
{
    struct error err = {0};
    struct learner learner;
    enum precision precision = precision_of(words[3]);
    int n = (int)strtol(words[2], NULL, 10);
    enum assay_status st = open_row(
        &learner, words[0], strtol(words[1], NULL, 10), precision, gpu, &err);

    for (int i = 0; !st && i < n; i++) {
        double seconds;

        st = time_step(&learner, &seconds, &err);
        if (!st)
            printf("step %d: %.2f ms, loss %.5f\n", i + 1, seconds * 1e3,
                   learner.loss);
    }
    if (st) {
        fprintf(stderr, "cuda_train_bench: %s\n", err.text);
    } else {
        struct pool_usage usage = pool_usage(engine_pool(learner.engine));
        struct cuda_memory_usage driver =
            cuda_memory_usage((struct cuda_device *)(uintptr_t)gpu);

        printf("live %.0f, held %.0f, driver %.0f MiB at most\n",
               (double)usage.peak_bytes / 1048576,
               (double)usage.held_peak_bytes / 1048576,
               (double)driver.held_peak_bytes / 1048576);
        show_peak(&learner);
        show_choices(&learner);
    }
    learner_close(&learner);
    return st ? 1 : 0;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 15;
    const char *word = argc > 2 ? argv[2] : "";
    const struct device *gpu;
    struct error err = {0};
    struct peer peer;
    enum assay_status st = device_find("cuda:0", &gpu, &err);

    if (!st && argc >= 5 && !strcmp(argv[1], "--steps"))
        return make_steps(argv + 2, gpu);
    if (!st)
        st = peer_start(&peer, "cuda_train_peer.py", "/var/tmp", &err);
    if (st == ASSAY_NOT_FOUND || st == ASSAY_UNSUPPORTED) {
        printf("cuda_train_bench: skipped: %s\n", err.text);
        return 0;
    }
    for (size_t i = 0; !st && i < sizeof rows / sizeof *rows; i++) {
        if (strstr(rows[i].what, word))
            st = bench_row(&rows[i], &peer, gpu, n_rounds, &err);
    }
    peer_stop(&peer);
    if (!st && strstr("recording", word))
        st = bench_recording(gpu, &err);
    if (st)
        fprintf(stderr, "cuda_train_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
