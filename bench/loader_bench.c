/* bench/loader_bench.c - the loader compared with torchvision's DataLoader: the
 * same photographs, decoded, resized, cropped and normalised, by as many
 * workers.
 *
 * loader_bench [ROUNDS]: so many turns (7). */
#include "bench.h"
#include "peer.h"

#include "base/clock.h"
#include "data/loader.h"
#include "vision/recipe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { n_images = 160, n_classes = 4, batch_size = 8 };

static const size_t workers[] = {1, 2, 4};

/* ---- photographs ------------------------------------------------------- */

static const char *link_name(const char *folder, int i, char path[256])
{
    snprintf(path, 256, "%s/%d/%03d.jpg", folder, i % n_classes, i);
    return path;
}

/* One folder per class, with links to a photograph of 600x400. */
static int make_folder(char *folder)
{
    char path[256];

    if (!mkdtemp(folder))
        return -1;
    for (int i = 0; i < n_images; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i % n_classes);
        mkdir(path, 0777);
        if (symlink(BENCH_SOURCE_DIR "/assets/coffee.jpg",
                    link_name(folder, i, path)))
            return -1;
    }
    return 0;
}

static void remove_folder(const char *folder)
{
    char path[256];

    for (int i = 0; i < n_images; i++)
        unlink(link_name(folder, i, path));
    for (int i = 0; i < n_classes; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        rmdir(path);
    }
    rmdir(folder);
}

/* ---- ours -------------------------------------------------------------- */

static enum assay_status apply(const void *context,
                               const struct picture *picture, float *out,
                               struct error *err)
{
    return recipe_apply(context, picture, out, err);
}

/* From the start of the workers to the last batch. */
static enum assay_status load_epoch(const struct loader_options *options,
                                    double *seconds, size_t *n,
                                    struct error *err)
{
    int64_t since = clock_monotonic_ns();
    struct batch batch = {0};
    struct loader *loader;
    enum assay_status st = loader_new(options, &loader, err);

    *n = 0;
    if (!st) {
        struct batch_source source = loader_source(loader);

        st = source.begin(source.context, (struct batch_place){0}, err);
        while (!st && !(st = source.next(source.context, &batch, err)) &&
               batch.n_images) {
            *n += batch.n_images;
            batch_release(&batch);
        }
    }
    *seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    loader_free(loader);
    return st;
}

/* ---- both -------------------------------------------------------------- */

/* In turn; the first of each is not counted. */
static enum assay_status compare(struct loader_options *options,
                                 struct peer *peer, int n_rounds,
                                 struct error *err)
{
    struct pairs pairs = {0};
    enum assay_status st = ASSAY_OK;
    char job[32], what[64];

    snprintf(job, sizeof job, "classes %zu", options->n_workers);
    snprintf(what, sizeof what, "decode, resize, %zu worker%s, per image",
             options->n_workers, options->n_workers > 1 ? "s" : "");
    for (int i = 0; !st && i <= n_rounds; i++) {
        double ours = 0, theirs = 0;
        size_t n = 0;
        long n_theirs = 0;

        st = peer_ask(peer, job, &theirs, &n_theirs, err);
        if (!st)
            st = load_epoch(options, &ours, &n, err);
        if (!st && (n != n_images || n_theirs != n_images))
            st = error_set(err, ASSAY_BAD_INPUT, "%zu and %ld of %d images", n,
                           n_theirs, n_images);
        if (i > 0)
            pairs_add(&pairs, ours / n_images, theirs / n_images);
    }
    if (!st)
        bench_ratio(what, &pairs, 1, 1e3, "ms");
    return st;
}

static enum assay_status bench(const char *folder, struct peer *peer,
                               int n_rounds, struct error *err)
{
    const struct dataset_options data = {
        .kind = DATASET_IMAGEFOLDER, .path = folder, .split = DATASET_TRAIN};
    const struct recipe recipe = recipe_of_variant(MODEL_IMAGENET);
    const struct sample_fit fit = {recipe.width, recipe.height, apply, &recipe};
    struct dataset *dataset = NULL;
    struct pool *pool = NULL;
    enum assay_status st = pool_new(&pool, err);

    if (!st)
        st = dataset_open(&data, &dataset, err);
    for (size_t i = 0; !st && i < sizeof workers / sizeof *workers; i++) {
        struct loader_options options = {.dataset = dataset,
                                         .pool = pool,
                                         .fit = &fit,
                                         .n_classes = n_classes,
                                         .batch_size = batch_size,
                                         .n_workers = workers[i],
                                         .prefetch_factor = 2,
                                         .n_epochs = 1,
                                         .shuffles = true};

        st = compare(&options, peer, n_rounds, err);
    }
    dataset_close(dataset);
    pool_free(pool);
    return st;
}

int main(int argc, char **argv)
{
    int n_rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 7;
    char folder[] = "/var/tmp/assay-loader-XXXXXX";
    struct error err = {0};
    struct peer peer;
    enum assay_status st;

    if (make_folder(folder)) {
        perror("loader_bench: a temporary folder");
        return 1;
    }
    st = peer_start(&peer, "loader_peer.py", folder, &err);
    if (!st) {
        st = bench(folder, &peer, n_rounds, &err);
        peer_stop(&peer);
    }
    remove_folder(folder);
    if (st == ASSAY_NOT_FOUND) {
        printf("loader_bench: skipped: %s\n", err.text);
        return 0;
    }
    if (st)
        fprintf(stderr, "loader_bench: %s\n", err.text);
    return st ? 1 : bench_end();
}
