/* data/batch.h - images with their answers, as a training step takes them.
 *
 * Made by a source, in order; a step copies what it needs and gives the batch
 * back, so that its memory serves a later one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include "base/error.h"
#include "tensor/tensor.h"

/* Where in the data a batch begins. A source that is asked to begin there
 * gives the same batches again. */
struct batch_place {
    uint64_t epoch;
    uint64_t index; /* in the order of this epoch, samples */
};

/* Start from {0}. */
struct batch {
    size_t n_images; /* 0: the source has ended */

    /* Float32. For detectors one an image, [3,h,w] with values from 0 to 1;
     * for classifiers a single one, [n,3,h,w], normalised. */
    struct tensor *images;
    size_t n_tensors;

    /* For detectors labels has one for each box, from 1 on, of the images in
     * turn; for classifiers one an image, from 0 on, and the others have no
     * data. */
    struct tensor labels; /* int64 [total] */
    struct tensor boxes;  /* float32 [total,4], x1 y1 x2 y2 in pixels */
    struct tensor counts; /* int64 [n_images] */
    struct tensor *masks; /* uint8 [count,h,w], one an image; NULL: none */
    size_t n_masks;

    struct batch_place first; /* of this batch */
    struct batch_place after; /* of the one that follows */

    int64_t wait_ns;    /* the caller waited until it was there */
    int64_t made_ns;    /* workers' time for it, summed: decoding and all */
    size_t n_ready;     /* batches that were waiting when it was asked for */
    uint64_t n_skipped; /* samples that could not be used, on the way to it */
};

/* Gives tensors and lists back; {0} afterwards. */
void batch_release(struct batch *batch);

/* Gives batches one after the other, for one thread. */
struct batch_source {
    /* What comes first; once, before the first next(). */
    enum assay_status (*begin)(void *context, struct batch_place place,
                               struct error *err);
    /* The caller releases *out, which was {0}. */
    enum assay_status (*next)(void *context, struct batch *out,
                              struct error *err);
    void *context;
    uint64_t epoch_batches; /* of a whole epoch */
};

#endif
