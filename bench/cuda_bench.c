/* bench/cuda_bench.c - models on a GPU compared with PyTorch on the same one,
 * in turn: each row against PyTorch's best way to run it there.
 *
 * cuda_bench [ROUNDS]: so many turns (15). PyTorch is that of the python3 that
 * ASSAY_BENCH_PYTHON names. Skipped where there is no GPU. */
#include "subject.h"

#include <stdlib.h>

static const struct row {
    const char *what, *model, *job; /* job: for PyTorch's side */
    int64_t batch;
    enum precision precision;
    double bar; /* against PyTorch's time */
} rows[] = {
    {"ResNet-50, batch 1, tf32", "resnet50", "resnet50 1 tf32", 1,
     PRECISION_TF32, 0.60},
    {"ResNet-50, batch 1, fp16", "resnet50", "resnet50 1 fp16", 1,
     PRECISION_FP16, 0.60},
    {"ResNet-50, batch 32, tf32", "resnet50", "resnet50 32 tf32", 32,
     PRECISION_TF32, 0.90},
    {"Faster R-CNN, batch 1, tf32", "faster-rcnn", "faster-rcnn 1 tf32", 1,
     PRECISION_TF32, 0.30},
    {"Faster R-CNN, batch 1, fp16", "faster-rcnn", "faster-rcnn 1 fp16", 1,
     PRECISION_FP16, 0.20},
    {"Faster R-CNN, batch 8, tf32", "faster-rcnn", "faster-rcnn 8 tf32", 8,
     PRECISION_TF32, 0.40},
    {"Faster R-CNN, batch 8, fp16", "faster-rcnn", "faster-rcnn 8 fp16", 8,
     PRECISION_FP16, 0.30},
};

static enum assay_status open_row(struct subject *ours, const struct row *row,
                                  const struct device *gpu, struct error *err)
{
    bool is_detector = row->model[0] == 'f';
    struct session_options options = {
        .model.name = row->model,
        .model.build = model_options_for(row->model, MODEL_IMAGENET),
        .vision.decode = is_detector ? DECODE_DETECTOR : DECODE_CLASSES,
        .vision.recipe =
            is_detector ? recipe_defaults() : recipe_of_variant(MODEL_IMAGENET),
        .vision.is_random = true,
        .device = gpu,
        .precision = row->precision,
        .may_replay = true,
        .n_threads = 2,
        .tuning_seconds = 20,
    };

    options.model.build.n_images = row->batch;
    if (is_detector)
        options.vision.recipe.width = options.vision.recipe.height = 800;
    /* Chooses kernels, then records the pass. */
    return subject_open(ours, &options, (size_t)row->batch, 3, err);
}

static enum assay_status bench_row(const struct row *row, struct peer *peer,
                                   const struct device *gpu, int n_rounds,
                                   struct error *err)
{
    struct pairs pairs = {0};
    struct subject ours;
    enum assay_status st = open_row(&ours, row, gpu, err);

    if (!st)
        st = subject_compare(&ours, peer, row->job, n_rounds, &pairs, err);
    if (!st)
        bench_ratio(row->what, &pairs, row->bar, 1e3, "ms");
    if (!st && !engine_was_replayed(ours.session.engine))
        printf("  launched one by one: the host has a part in the pass\n");
    subject_release(&ours);
    return st;
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
    for (size_t i = 0; !st && i < sizeof rows / sizeof *rows; i++)
        st = bench_row(&rows[i], &peer, gpu, n_rounds, &err);
    peer_stop(&peer);
    if (st)
        fprintf(stderr, "cuda_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
