/* data/loader.h - batches of a dataset, made ahead of the step that wants them.
 *
 * Workers are plain threads. They read, transform and flip images; batches
 * come in order, and are the same for a seed whatever the number of workers.
 * No more than prefetch_factor batches for each worker are ready or on their
 * way, beside the one that the caller has.
 *
 * A sample that cannot be used (a broken file, an image of another size than
 * its annotation says, boxes that are all outside of it) is named, counted and
 * left out of its batch, or another takes its place.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include "base/clock.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/sample_fit.h"

/* Told in the thread that asks for batches, once for each sample. */
struct loader_listener {
    void (*skipped)(void *context, const char *why);
    void *context;
};

struct loader_options {
    const struct dataset *dataset; /* these three outlive the loader */
    struct pool *pool;             /* tensors of batches; workers take from it
                                      at any time */
    const struct sample_fit *fit;  /* of classifiers; NULL: a detector learns */
    bool has_masks;                /* detectors only */
    bool flips;                    /* every other image, left to right */
    int64_t n_classes;             /* of the model: those of the dataset, for
                                      detectors with the background, or COCO's
                                      numbers where all are below it */
    size_t batch_size;             /* at least 1 */
    size_t n_workers;              /* 0: batches are made when asked for, in
                                      the thread that asks */
    size_t prefetch_factor;        /* at least 1, where there are workers */
    uint64_t n_epochs;             /* 0: without end */
    uint64_t seed;
    bool shuffles;   /* every epoch in another order */
    bool drops_last; /* the batch that is smaller */
    bool fills;      /* the place of a sample that cannot be used, with one
                        that is drawn: batches stay full */
    struct loader_listener listener;
    struct clock clock; /* {0}: the real one */
};

struct loader;

/* ASSAY_BAD_USAGE where the options do not go together: the number of classes
 * is not the dataset's, or it has no objects for a detector or no classes for
 * a classifier. */
enum assay_status loader_new(const struct loader_options *options,
                             struct loader **out, struct error *err);
/* Stops the workers. Batches may be released later. Accepts NULL. */
void loader_free(struct loader *loader);

/* The loader as a source, for one thread; valid as long as it. */
struct batch_source loader_source(struct loader *loader);

/* Samples of an epoch: those of the dataset that have something to learn. */
size_t loader_samples(const struct loader *loader);

/* What was measured, over the batches that were given so far. */
struct loader_pace {
    uint64_t n_batches, n_images;
    int64_t made_ns;       /* of workers, summed */
    int64_t first_wait_ns; /* for the first batch: nothing was ahead yet */
    int64_t wait_ns;       /* for the others */
    int64_t between_ns;    /* from getting one to asking for the next */
};

struct loader_counts {
    size_t n_skipped;      /* samples, each once */
    size_t n_without;      /* samples without an object, never tried */
    uint64_t n_cut_boxes;  /* boxes that reached out of their image */
    uint64_t n_left_boxes; /* boxes of no size, or outside */
};

struct loader_pace loader_pace(const struct loader *loader);
struct loader_counts loader_counts(const struct loader *loader);

/* The part of the time that was waited for data. 0 before the second batch. */
double loader_stall_share(const struct loader_pace *pace);
/* Time of a worker for an image; 0 where none was made. */
int64_t loader_image_ns(const struct loader_pace *pace);
/* The workers that make a batch in the time that a step takes without
 * waiting; 0 before the second batch. */
size_t loader_wanted_workers(const struct loader_pace *pace);

#endif
