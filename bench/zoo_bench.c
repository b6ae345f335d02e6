/* bench/zoo_bench.c - classifiers compared with PyTorch: one image of 224x224,
 * two threads, in turn.
 *
 * zoo_bench [ROUNDS]: so many turns (81: enough to outlast what a
 * neighbour of a shared machine does for some seconds). */
#include "subject.h"

#include <stdlib.h>
#include <unistd.h>

enum { n_threads = 2 };

static const struct {
    const char *model;
    double bar; /* against PyTorch's time */
} rows[] = {{"resnet50", 0.6}, {"mobilenet_v2", 0.4}, {"vgg16", 0.5}};

static enum assay_status open_classifier(struct subject *ours,
                                         const char *model, const char *choices,
                                         struct error *err)
{
    struct session_options options = {
        .model.name = model,
        .model.build = model_options_for(model, MODEL_IMAGENET),
        .vision.decode = DECODE_CLASSES,
        .vision.recipe = recipe_of_variant(MODEL_IMAGENET),
        .vision.is_random = true,
        .n_threads = n_threads,
        .tuning_seconds = 10,
        .choices_path = choices,
    };

    return subject_open(ours, &options, 1, 2, err);
}

static enum assay_status bench_row(size_t i, struct peer *peer,
                                   const char *choices, int n_rounds,
                                   struct error *err)
{
    struct pairs pairs = {0};
    struct subject ours;
    enum assay_status st = open_classifier(&ours, rows[i].model, choices, err);

    if (!st)
        st = subject_compare(&ours, peer, rows[i].model, n_rounds, &pairs, err);
    if (!st)
        bench_ratio(rows[i].model, &pairs, rows[i].bar, 1e3, "ms");
    subject_release(&ours);
    return st;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 81;
    char choices[] = "/var/tmp/assay-zoo-XXXXXX";
    struct error err = {0};
    struct peer peer;
    enum assay_status st;
    int file = mkstemp(choices);

    if (file < 0) {
        perror("zoo_bench: a temporary file");
        return 1;
    }
    close(file);
    st = peer_start(&peer, "zoo_peer.py", "/var/tmp", &err);
    if (!st) {
        for (size_t i = 0; !st && i < sizeof rows / sizeof *rows; i++)
            st = bench_row(i, &peer, choices, n_rounds, &err);
        peer_stop(&peer);
    } else if (st == ASSAY_NOT_FOUND) {
        printf("zoo_bench: skipped: %s\n", err.text);
        unlink(choices);
        return 0;
    }
    unlink(choices);
    if (st)
        fprintf(stderr, "zoo_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
