/* data/sample_internal.h - one image with its answers, made ready for a batch.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_SAMPLE_INTERNAL_H
#define DATA_SAMPLE_INTERNAL_H

#include "base/random.h"
#include "data/dataset.h"
#include "data/sample_fit.h"
#include "tensor/tensor.h"

struct sample_options {
    const struct dataset *dataset;
    struct pool *pool;            /* that tensors are taken from */
    const struct sample_fit *fit; /* NULL: objects are learned, of the image as
                                     it is, with values from 0 to 1 */
    bool has_masks;               /* of objects */
    bool flips;                   /* every other image, left to right */
    const int64_t *labels; /* what the model calls a class of the dataset */
};

/* Start from {0}. */
struct sample {
    int64_t label;       /* classifiers: of the image */
    struct tensor image; /* detectors: [3,h,w] */
    struct tensor masks; /* uint8 [n,h,w], or without data */
    float (*boxes)[4];   /* x1 y1 x2 y2 */
    int64_t *labels;     /* of the boxes */
    size_t n;            /* boxes */
    size_t n_cut;        /* boxes that reached out of the image */
    size_t n_left_out;   /* boxes with nothing in it, crowds not counted */
};

void sample_release(struct sample *sample);

/* Memory that is counted as that of images. */
enum assay_status sample_tensor(const struct sample_options *options,
                                enum dtype dtype, const struct shape *shape,
                                struct tensor *out, struct error *err);

/* Whether a box has something of an image of this size in it; 0: of any. Cuts
 * off what has not. */
bool sample_cut_box(const struct dataset_object *object, int width, int height,
                    float box[4], bool *is_cut);

/* Reads sample i of the dataset. Whether it is flipped is drawn from *random.
 * A classifier's image is written to *image, a detector's becomes a tensor. On
 * failure *out is released; ASSAY_NOMEM apart, the sample is to blame and
 * named. */
enum assay_status sample_make(const struct sample_options *options, size_t i,
                              struct random *random, float *image,
                              struct sample *out, struct error *err);

#endif
