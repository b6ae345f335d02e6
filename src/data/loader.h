/* data/loader.h - batches of a dataset, made ahead of the step that needs them.
 *
 * Workers are plain threads. They read, transform and flip images; batches come
 * in order, and depend only on the seed, not on the number of workers. At most
 * prefetch_factor batches per worker are ready or in the making, in addition to
 * the one that the caller has.
 *
 * A sample that cannot be used (a broken file, an image whose size differs from
 * its annotation, only boxes outside of it) is reported, counted and left out
 * of its batch, or another takes its place.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include "base/clock.h"
#include "data/batch.h"
#include "data/dataset.h"

/* Turns a picture into the input of a classifier. Writes float32
 * [3,height,width]. Called by several threads at once. */
struct sample_fit {
    int width, height;
    enum assay_status (*apply)(const void *context,
                               const struct picture *picture, float *out,
                               struct error *err);
    const void *context;
};

/* Called in the thread that asks for batches, once per sample. */
struct loader_listener {
    void (*skipped)(void *context, const char *why);
    void *context;
};

struct loader_options {
    const struct dataset *dataset; /* these three outlive the loader */
    struct pool *pool;             /* for the tensors of batches; workers use it
                                      at any time */
    const struct sample_fit *fit;  /* for classifiers; NULL: for a detector */
    bool has_masks;                /* detectors only */
    bool flips;                    /* mirror every other image, left to right */
    int64_t n_classes;             /* of the model: as many as the dataset has,
                                      plus the background for detectors, or more
                                      than any of COCO's numbers */
    size_t batch_size;             /* at least 1 */
    size_t n_workers;              /* 0: batches are made on demand, in the
                                      caller's thread */
    size_t prefetch_factor;        /* at least 1 if there are workers */
    uint64_t n_epochs;             /* 0: endless */
    uint64_t seed;
    bool shuffles;   /* a different order in every epoch */
    bool drops_last; /* skip the smaller batch at the end of an epoch */
    bool fills;      /* replace a sample that cannot be used with a random one,
                        so that batches stay full */
    struct loader_listener listener;
    struct clock clock; /* {0}: the real one */
};

struct loader;

/* ASSAY_BAD_USAGE if the options do not fit: the number of classes is not the
 * dataset's, or it has no objects for a detector or no classes for a
 * classifier. */
enum assay_status loader_new(const struct loader_options *options,
                             struct loader **out, struct error *err);
/* Stops the workers. Batches may be released later. Accepts NULL. */
void loader_free(struct loader *loader);

/* The loader as a source, for one thread; valid as long as the loader. */
struct batch_source loader_source(struct loader *loader);

/* Samples per epoch: those with something to learn from. */
size_t loader_samples(const struct loader *loader);

/* Measured over the batches so far. */
struct loader_pace {
    uint64_t n_batches, n_images;
    int64_t made_ns;       /* time of the workers, summed */
    int64_t first_wait_ns; /* for the first batch, when nothing was ahead */
    int64_t wait_ns;       /* for the others */
    int64_t between_ns;    /* from getting a batch to asking for the next */
};

struct loader_counts {
    size_t n_skipped;      /* samples, each once */
    size_t n_without;      /* samples without an object, never used */
    uint64_t n_cut_boxes;  /* boxes that reach out of their image */
    uint64_t n_left_boxes; /* boxes without a size, or outside */
};

struct loader_pace loader_pace(const struct loader *loader);
struct loader_counts loader_counts(const struct loader *loader);

/* The share of time spent waiting for data; 0 before the second batch. */
double loader_stall_share(const struct loader_pace *pace);
/* Time of a worker per image; 0 if none was made. */
int64_t loader_image_ns(const struct loader_pace *pace);
/* How many workers would make a batch in the time that a step takes without
 * waiting; 0 before the second batch. */
size_t loader_wanted_workers(const struct loader_pace *pace);

#endif
