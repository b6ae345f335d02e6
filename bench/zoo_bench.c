/* bench/zoo_bench.c - classifiers compared with PyTorch: one image of 224x224,
 * two threads, in turn.
 *
 * zoo_bench [ROUNDS]: so many turns (21). */
#include "bench.h"
#include "peer.h"

#include "base/clock.h"
#include "session/frame.h"

#include <stdlib.h>
#include <unistd.h>

enum { n_threads = 2 };

static const struct {
    const char *model;
    double bar; /* against PyTorch's time */
} rows[] = {{"resnet50", 0.6}, {"mobilenet_v2", 0.4}, {"vgg16", 0.5}};

/* A model with random values ready for it. */
struct classifier {
    struct session session;
    struct frame frame;
};

static enum assay_status open_classifier(struct classifier *ours,
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
    enum assay_status st;

    *ours = (struct classifier){.frame = {.n = 1}};
    st = session_open(&options, &ours->session, err);
    if (!st)
        st = frame_preprocess(&ours->frame, &ours->session, err);
    /* Chooses kernels, touches memory. */
    for (int i = 0; !st && i < 2; i++)
        st = frame_model(&ours->frame, &ours->session, err);
    return st;
}

static enum assay_status compare(struct classifier *ours, struct peer *peer,
                                 const char *model, int n_rounds,
                                 struct pairs *pairs, struct error *err)
{
    double theirs;
    long n_classes;
    enum assay_status st = peer_ask(peer, model, &theirs, &n_classes, err);

    for (int i = 0; !st && i < n_rounds; i++) {
        int64_t since;

        st = peer_ask(peer, model, &theirs, &n_classes, err);
        if (st)
            break;
        since = clock_monotonic_ns();
        st = frame_model(&ours->frame, &ours->session, err);
        pairs_add(pairs, (double)(clock_monotonic_ns() - since) / 1e9, theirs);
    }
    return st;
}

static enum assay_status bench_row(size_t i, struct peer *peer,
                                   const char *choices, int n_rounds,
                                   struct error *err)
{
    struct pairs pairs = {0};
    struct classifier ours;
    enum assay_status st = open_classifier(&ours, rows[i].model, choices, err);

    if (!st)
        st = compare(&ours, peer, rows[i].model, n_rounds, &pairs, err);
    if (!st)
        bench_ratio(rows[i].model, &pairs, rows[i].bar, 1e3, "ms");
    frame_release(&ours.frame);
    session_close(&ours.session);
    return st;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 21;
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
