/* data/batch.h - images with their answers, for a training step.
 *
 * A source makes them in order; a step copies what it needs and releases the
 * batch, so that its memory can be reused.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include "base/error.h"
#include "tensor/tensor.h"

/* Where in the data a batch begins. A source that starts there gives the same
 * batches again. */
struct batch_place {
    uint64_t epoch;
    uint64_t index; /* of a sample in the order of this epoch */
};

/* Start from {0}. */
struct batch {
    size_t n_images; /* 0: the source has ended */

    /* Float32. For detectors one per image, [3,h,w] with values from 0 to 1;
     * for classifiers a single one, [n,3,h,w], normalised. */
    struct tensor *images;
    size_t n_tensors;

    /* For detectors one label per box, from 1 on, image by image; for
     * classifiers one per image, from 0 on, and the others have no data. */
    struct tensor labels; /* int64 [total] */
    struct tensor boxes;  /* float32 [total,4], x1 y1 x2 y2 in pixels */
    struct tensor counts; /* int64 [n_images] */
    struct tensor *masks; /* uint8 [count,h,w], one per image; or NULL */
    size_t n_masks;

    struct batch_place first; /* where this batch begins */
    struct batch_place after; /* where the next one begins */

    int64_t wait_ns;    /* time the caller waited for it */
    int64_t made_ns;    /* time of the workers, summed: decoding and everything
                           else */
    size_t n_ready;     /* batches that were ready when it was asked for */
    uint64_t n_skipped; /* samples before it that could not be used */
};

/* Leaves {0}. */
void batch_release(struct batch *batch);

/* Gives batches one after the other, to one thread. */
struct batch_source {
    /* Sets where to start; call it once, before the first next(). */
    enum assay_status (*begin)(void *context, struct batch_place place,
                               struct error *err);
    /* *out must be {0}; the caller releases it. */
    enum assay_status (*next)(void *context, struct batch *out,
                              struct error *err);
    /* Optional (never): whether next() would give a batch without waiting. */
    bool (*is_ready)(void *context);
    void *context;
    uint64_t epoch_batches; /* per epoch */
};

#endif
