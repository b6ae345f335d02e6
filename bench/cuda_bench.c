/* bench/cuda_bench.c - models on a GPU compared with PyTorch on the same one,
 * in turn: each row against PyTorch's best way to run it there.
 *
 * cuda_bench [ROUNDS [WORDS]]: so many turns (15) of the rows whose text has
 * the words, or of all. PyTorch is that of the python3 that ASSAY_BENCH_PYTHON
 * names; ASSAY_BENCH_ASSAY names the program where it was built elsewhere.
 * Skipped where there is no GPU. */
#include "subject.h"

#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *what, *model, *job; /* job: for PyTorch's side */
    int64_t batch;
    enum precision precision;
    double bar;        /* against PyTorch's time; 0: none */
    double memory_bar; /* against its memory; 0: not compared */
} rows[] = {
    {"ResNet-50, batch 1, tf32", "resnet50", "resnet50 1 tf32", 1,
     PRECISION_TF32, 0.60, 0},
    {"ResNet-50, batch 1, fp16", "resnet50", "resnet50 1 fp16", 1,
     PRECISION_FP16, 0, 0},
    {"ResNet-50, batch 32, tf32", "resnet50", "resnet50 32 tf32", 32,
     PRECISION_TF32, 0.90, 0},
    {"Faster R-CNN, batch 1, tf32", "faster-rcnn", "faster-rcnn 1 tf32", 1,
     PRECISION_TF32, 0.30, 0},
    {"Faster R-CNN, batch 1, fp16", "faster-rcnn", "faster-rcnn 1 fp16", 1,
     PRECISION_FP16, 0.20, 0},
    {"Faster R-CNN, batch 8, tf32", "faster-rcnn", "faster-rcnn 8 tf32", 8,
     PRECISION_TF32, 0.40, 0.60},
    {"Faster R-CNN, batch 8, fp16", "faster-rcnn", "faster-rcnn 8 fp16", 8,
     PRECISION_FP16, 0.30, 0},
    {"Mask R-CNN, batch 1, tf32", "mask-rcnn", "mask-rcnn 1 tf32", 1,
     PRECISION_TF32, 0.12, 0},
    {"Mask R-CNN, batch 8, tf32", "mask-rcnn", "mask-rcnn 8 tf32", 8,
     PRECISION_TF32, 0.08, 0},
};

static const char start_row[] = "prompt to screen";

static bool is_detector(const struct row *row)
{
    return strstr(row->model, "rcnn") != NULL;
}

static enum assay_status open_row(struct subject *ours, const struct row *row,
                                  const struct device *gpu, struct error *err)
{
    struct session_options options = {
        .model.name = row->model,
        .model.build = model_options_for(row->model, MODEL_IMAGENET),
        .vision.decode = is_detector(row) ? DECODE_DETECTOR : DECODE_CLASSES,
        .vision.recipe = is_detector(row) ? recipe_defaults()
                                          : recipe_of_variant(MODEL_IMAGENET),
        .vision.is_random = true,
        .device = gpu,
        .precision = row->precision,
        .may_replay = true,
        .n_threads = 2,
        .tuning_seconds = 8,
        .choices_path = "", /* a GPU's are beside its kernels */
    };

    options.model.build.n_images = row->batch;
    if (is_detector(row))
        options.vision.recipe.width = options.vision.recipe.height = 800;
    /* Chooses kernels, then records the pass. */
    return subject_open(ours, &options, (size_t)row->batch, 3, err);
}

/* What is free of the GPU's memory, as the driver says. */
static double free_bytes(const struct device *gpu)
{
    size_t free = 0, total = 0;

    return gpu->space->room && gpu->space->room(gpu->space, &free, &total)
               ? (double)free
               : 0;
}

/* Detections of the last pass, of all photographs. */
static long count_found(const struct subject *ours)
{
    const struct graph *graph = ours->session.graph;
    long n = 0;

    for (size_t i = 0; i < ours->session.n_outputs; i++) {
        const struct tensor *counts = &ours->session.outputs[i];
        const char *name;

        (void)graph_output_at(graph, i, &name);
        if (strcmp(name, "counts") != 0)
            continue;
        for (size_t k = 0; k < tensor_elements(counts); k++)
            n += (long)((const int64_t *)tensor_data(counts))[k];
    }
    return n;
}

/* What both need of the driver beside their contexts. */
static enum assay_status compare_memory(const struct row *row,
                                        struct peer *peer, double ours,
                                        struct error *err)
{
    struct pairs pairs = {0};
    char text[96];
    double theirs;
    long n;
    enum assay_status st;

    snprintf(text, sizeof text, "memory %s", row->job);
    st = peer_ask(peer, text, &theirs, &n, err);
    if (st)
        return st;
    pairs_add(&pairs, ours, theirs);
    snprintf(text, sizeof text, "%s, memory", row->what);
    bench_ratio(text, &pairs, row->memory_bar, 0x1p-20, "MiB");
    return ASSAY_OK;
}

static enum assay_status bench_row(const struct row *row, struct peer *peer,
                                   const struct device *gpu, int n_rounds,
                                   struct error *err)
{
    struct pairs pairs = {0};
    struct subject ours;
    double before = free_bytes(gpu), seconds;
    enum assay_status st = open_row(&ours, row, gpu, err);
    double taken = before - free_bytes(gpu);
    long theirs = 0;

    if (!st)
        st = peer_ask(peer, row->job, &seconds, &theirs, err);
    if (!st)
        st = subject_compare(&ours, peer, row->job, n_rounds, &pairs, err);
    if (!st)
        bench_ratio(row->what, &pairs, row->bar, 1e3, "ms");
    if (!st && is_detector(row))
        printf("  found: ours %ld, PyTorch's %ld\n", count_found(&ours),
               theirs);
    if (!st && !engine_was_replayed(ours.session.engine))
        printf("  launched one by one: the host has a part in the pass\n");
    fflush(stdout);
    if (!st && row->memory_bar > 0)
        st = compare_memory(row, peer, taken, err);
    subject_release(&ours);
    return st;
}

/* One detection by a program that is started for it, with all kernels in the
 * cache. */
static enum assay_status bench_start(int n_rounds, struct error *err)
{
    const char *program = getenv("ASSAY_BENCH_ASSAY");
    const char *python = getenv("ASSAY_BENCH_PYTHON");
    const char *root = getenv("ASSAY_BENCH_ROOT");
    char script[600], photo[600];
    const char *ours[] = {program ? program : BENCH_ASSAY,
                          "run",
                          "faster-rcnn",
                          photo,
                          "--device",
                          "cuda:0",
                          "--iters",
                          "1",
                          "--warmup",
                          "0",
                          "--output",
                          "/var/tmp/cuda_bench.assay",
                          NULL};
    const char *theirs[] = {python ? python : "/usr/bin/python3",
                            script,
                            "/var/tmp",
                            photo,
                            "once",
                            NULL};
    struct pairs pairs = {0};
    struct child_cost our_cost, their_cost;
    enum assay_status st;

    root = root ? root : BENCH_SOURCE_DIR;
    snprintf(script, sizeof script, "%s/bench/cuda_peer.py", root);
    snprintf(photo, sizeof photo, "%s/assets/coffee.jpg", root);
    st = child_run(ours, &our_cost, err); /* fills the cache */
    for (int i = 0; !st && i < (n_rounds < 3 ? n_rounds : 3); i++) {
        st = child_run(theirs, &their_cost, err);
        if (!st)
            st = child_run(ours, &our_cost, err);
        if (!st)
            pairs_add(&pairs, our_cost.seconds, their_cost.seconds);
    }
    if (!st)
        bench_ratio(start_row, &pairs, 0.4, 1, "s");
    return st;
}

static bool is_wanted(const char *what, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (!strstr(what, argv[i]))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 15;
    const struct device *gpu;
    struct error err = {0};
    struct peer peer;
    enum assay_status st = device_find("cuda:0", &gpu, &err);

    if (!st)
        st = peer_start(&peer, "cuda_peer.py", "/var/tmp", &err);
    if (st == ASSAY_NOT_FOUND || st == ASSAY_UNSUPPORTED) {
        printf("cuda_bench: skipped: %s\n", err.text);
        return 0;
    }
    for (size_t i = 0; !st && i < sizeof rows / sizeof *rows; i++) {
        if (is_wanted(rows[i].what, argc, argv))
            st = bench_row(&rows[i], &peer, gpu, n_rounds, &err);
    }
    if (!st && is_wanted(start_row, argc, argv))
        st = bench_start(n_rounds, &err);
    peer_stop(&peer);
    if (st)
        fprintf(stderr, "cuda_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
