/* tests/data/batches.h - small datasets, and loaders of them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_DATA_BATCHES_H
#define TESTS_DATA_BATCHES_H

#include "data/loader.h"
#include "made_files.h"

static struct error err;

/* ---- datasets --------------------------------------------------------- */

static inline struct dataset *shapes(size_t n)
{
    const struct dataset_options options = {
        .kind = DATASET_SYNTHETIC,
        .limit = n,
        .synthetic = {.width = 40, .height = 32, .seed = 7}};
    struct dataset *dataset;

    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

/* n classes with one image each, so that the label identifies it; so many from
 * `broken` on are not pictures. */
static inline struct dataset *folders(const char *name, size_t n, size_t broken,
                                      size_t n_broken)
{
    const struct dataset_options options = {.kind = DATASET_IMAGEFOLDER,
                                            .path = test_path(name)};
    struct dataset *dataset;
    char path[1024];

    for (size_t i = 0; i < n; i++) {
        const uint8_t grey[3] = {(uint8_t)i, (uint8_t)i, (uint8_t)i};

        snprintf(path, sizeof path, "%s/%03zu/it.png", test_path(name), i);
        if (i >= broken && i < broken + n_broken)
            write_text(path, "this is not a picture");
        else
            write_photo(path, 3, 2, grey);
    }
    err = (struct error){0};
    CHECK_STATUS(dataset_open(&options, &dataset, &err), ASSAY_OK, &err);
    return dataset;
}

/* The red of the upper left pixel, three times. */
static inline enum assay_status take_red(const void *context,
                                         const struct picture *picture,
                                         float *out, struct error *e)
{
    (void)context, (void)e;
    for (int i = 0; i < 3 * 2 * 2; i++)
        out[i] = (float)picture->rgb[0];
    return ASSAY_OK;
}

static const struct sample_fit red_fit = {2, 2, take_red, NULL};

/* ---- loaders ---------------------------------------------------------- */

static inline struct loader_options classifier(const struct dataset *dataset,
                                               struct pool *pool, size_t batch)
{
    return (struct loader_options){.dataset = dataset,
                                   .pool = pool,
                                   .fit = &red_fit,
                                   .n_classes =
                                       (int64_t)dataset_class_count(dataset),
                                   .batch_size = batch,
                                   .prefetch_factor = 2,
                                   .n_epochs = 1};
}

static inline struct loader_options detector(const struct dataset *dataset,
                                             struct pool *pool, size_t batch)
{
    struct loader_options options = classifier(dataset, pool, batch);

    options.fit = NULL;
    options.n_classes++;
    return options;
}

static inline struct pool *new_pool(void)
{
    struct pool *pool;

    err = (struct error){0};
    CHECK_STATUS(pool_new(&pool, &err), ASSAY_OK, &err);
    return pool;
}

static inline struct loader *begin_at(const struct loader_options *options,
                                      struct batch_place place)
{
    struct batch_source source;
    struct loader *loader;

    err = (struct error){0};
    CHECK_STATUS(loader_new(options, &loader, &err), ASSAY_OK, &err);
    source = loader_source(loader);
    CHECK_STATUS(source.begin(source.context, place, &err), ASSAY_OK, &err);
    return loader;
}

static inline struct loader *begin(const struct loader_options *options)
{
    return begin_at(options, (struct batch_place){0});
}

/* False at the end. The caller releases the batch. */
static inline bool next(struct loader *loader, struct batch *batch)
{
    struct batch_source source = loader_source(loader);

    *batch = (struct batch){0};
    CHECK_STATUS(source.next(source.context, batch, &err), ASSAY_OK, &err);
    return batch->n_images > 0;
}

static inline void end(struct loader *loader, struct pool *pool,
                       struct dataset *dataset)
{
    loader_free(loader);
    CHECK_INT(pool_usage(pool).live_bytes, 0);
    pool_free(pool);
    dataset_close(dataset);
}

/* ---- what is reported of samples -------------------------------------- */

struct heard {
    int n;
    char last[256];
};

static inline void hear(void *context, const char *why)
{
    struct heard *heard = context;

    heard->n++;
    snprintf(heard->last, sizeof heard->last, "%s", why);
}

#endif
