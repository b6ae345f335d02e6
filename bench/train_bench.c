/* bench/train_bench.c - training steps compared with PyTorch: same sizes,
 * batches and threads, in turn; and the peak memory of both sides.
 *
 * train_bench [ROUNDS]: so many turns (5). train_bench --steps MODEL N: makes
 * so many steps, to measure their memory. */
#include "bench.h"
#include "peer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/optimizer.h"
#include "models/models.h"
#include "passes/fuse.h"
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
    n_memory_steps = 2,
    classifier_size = 224,
    detector_size = 500,
    max_inputs = 16
};

static const struct {
    const char *model;
    double time_bar, memory_bar; /* against PyTorch's; 0: no bar */
} rows[] = {{"fasterrcnn_resnet50_fpn", 0.5, 0.7},
            {"resnet50", 0.7, 0},
            {"mobilenet_v2", 0.6, 0}};

enum { n_rows = sizeof rows / sizeof *rows };

/* A model trained on the same batch again and again. */
struct learner {
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct optimizer *optimizer;
    struct tensor inputs[max_inputs];
    struct tensor *outputs;
    double loss;
};

/* ---- the batch ---------------------------------------------------------- */

static enum assay_status add_input(struct learner *learner, size_t i,
                                   enum dtype dtype, struct shape shape,
                                   struct error *err)
{
    return tensor_new(learner->pool, dtype, &shape, &learner->inputs[i], err);
}

static void fill_image(const struct tensor *image)
{
    uint32_t state = 1;

    for (size_t i = 0; i < tensor_elements(image); i++) {
        state = state * 1664525 + 1013904223;
        tensor_f32(image)[i] = (float)(state >> 8) / (float)(1 << 24);
    }
}

static enum assay_status make_labels(struct learner *learner, size_t i,
                                     int64_t n, int64_t first,
                                     struct error *err)
{
    enum assay_status st =
        add_input(learner, i, DTYPE_I64, shape_of(1, n), err);

    for (int64_t k = 0; !st && k < n; k++)
        tensor_i64(&learner->inputs[i])[k] = first + k;
    return st;
}

static enum assay_status make_boxes(struct learner *learner, size_t i,
                                    struct error *err)
{
    static const float boxes[] = {50, 60, 300, 400, 200, 20, 480, 250};
    enum assay_status st =
        add_input(learner, i, DTYPE_F32,
                  shape_of(2, (int64_t)2 * n_detector_images, (int64_t)4), err);

    for (int k = 0; !st && k < n_detector_images; k++)
        memcpy(tensor_f32(&learner->inputs[i]) + 8 * k, boxes, sizeof boxes);
    return st;
}

/* Images, boxes, labels, counts, seed. */
static enum assay_status make_detector_batch(struct learner *learner,
                                             struct error *err)
{
    size_t at = 0;
    enum assay_status st = ASSAY_OK;

    for (; !st && at < n_detector_images; at++) {
        st = add_input(learner, at, DTYPE_F32,
                       shape_of(3, (int64_t)3, (int64_t)detector_size,
                                (int64_t)detector_size),
                       err);
        if (!st)
            fill_image(&learner->inputs[at]);
    }
    if (!st)
        st = make_boxes(learner, at++, err);
    if (!st)
        st = make_labels(learner, at, 2 * n_detector_images, 1, err);
    for (int k = 0; !st && k < 2 * n_detector_images; k++)
        tensor_i64(&learner->inputs[at])[k] = 1 + k % 2;
    if (!st)
        st = make_labels(learner, ++at, n_detector_images, 2, err);
    for (int k = 0; !st && k < n_detector_images; k++)
        tensor_i64(&learner->inputs[at])[k] = 2;
    return st ? st : make_labels(learner, ++at, 1, 7, err);
}

/* Images, labels, seed. */
static enum assay_status make_classifier_batch(struct learner *learner,
                                               struct error *err)
{
    enum assay_status st =
        add_input(learner, 0, DTYPE_F32,
                  shape_of(4, (int64_t)n_classifier_images, (int64_t)3,
                           (int64_t)classifier_size, (int64_t)classifier_size),
                  err);

    if (st)
        return st;
    fill_image(&learner->inputs[0]);
    st = make_labels(learner, 1, n_classifier_images, 0, err);
    if (!st && graph_input_count(learner->graph) > 2)
        st = make_labels(learner, 2, 1, 7, err);
    return st;
}

/* ---- the model ---------------------------------------------------------- */

/* As torchvision makes it without weights: everything is trained. */
static enum assay_status build(struct learner *learner, const char *model,
                               bool is_detector, struct error *err)
{
    struct model_options options = model_options_for(model, MODEL_IMAGENET);
    enum assay_status st;

    options.is_training = true;
    if (is_detector) {
        options.n_images = n_detector_images;
        options.norm = NORM_BATCH;
        options.trainable_layers = MODEL_BACKBONE_LAYERS;
    }
    st = model_build(model, &options, &learner->graph, err);
    if (!st)
        st = fuse_training(learner->graph, err);
    return st ? st : model_fill(learner->graph, learner->pool, 0, err);
}

static enum assay_status learner_open(struct learner *learner,
                                      const char *model, const char *choices,
                                      struct error *err)
{
    struct engine_options engine = {
        .device = device_cpu(),
        .backend_options = {.n_threads = n_threads,
                            .is_training = true,
                            .tuning_seconds = 30,
                            .choices_path = choices},
        .detail = ENGINE_MODULES};
    struct optimizer_options optimizer = optimizer_defaults(OPTIMIZER_SGD);
    bool is_detector = model_task(model) == TASK_DETECTION;
    enum assay_status st;

    *learner = (struct learner){0};
    optimizer.momentum = 0.9;
    optimizer.weight_decay = 1e-4;
    st = pool_new(&learner->pool, err);
    if (!st)
        st = build(learner, model, is_detector, err);
    if (!st)
        st = engine_new(learner->graph, learner->pool, &engine,
                        &learner->engine, err);
    if (!st)
        st = optimizer_new(learner->engine, &optimizer, &learner->optimizer,
                           err);
    if (!st)
        st = is_detector ? make_detector_batch(learner, err)
                         : make_classifier_batch(learner, err);
    if (st)
        return st;
    learner->outputs =
        mem_array(graph_output_count(learner->graph), sizeof *learner->outputs);
    return learner->outputs ? ASSAY_OK : error_nomem(err, 1, "outputs");
}

static void learner_close(struct learner *learner)
{
    for (size_t i = 0; i < max_inputs; i++)
        tensor_release(&learner->inputs[i]);
    mem_free(learner->outputs);
    optimizer_free(learner->optimizer);
    engine_free(learner->engine);
    graph_free(learner->graph);
    pool_free(learner->pool);
}

static enum assay_status learner_step(struct learner *learner,
                                      struct error *err)
{
    size_t n = graph_output_count(learner->graph);
    enum assay_status st =
        engine_run(learner->engine, learner->inputs, learner->outputs, err);

    if (st)
        return st;
    learner->loss = 0;
    for (size_t i = 0; i < n; i++) {
        if (learner->outputs[i].shape.rank == 0)
            learner->loss += *tensor_f32(&learner->outputs[i]);
        tensor_release(&learner->outputs[i]);
    }
    st = engine_backward(learner->engine, err);
    return st ? st : optimizer_step(learner->optimizer, 0.001, err);
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
    enum assay_status st = learner_open(&learner, rows[i].model, choices, err);

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
    enum assay_status st = learner_open(&learner, "resnet50", choices, err);

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
    enum assay_status st = learner_open(&learner, model, NULL, &err);

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
