/* data/sample_internal.h - one image with its answers, ready for a batch.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_SAMPLE_INTERNAL_H
#define DATA_SAMPLE_INTERNAL_H

#include "base/random.h"
#include "data/loader.h"
#include "tensor/tensor.h"

struct sample_options {
    const struct dataset *dataset;
    struct pool *pool;            /* for tensors */
    const struct sample_fit *fit; /* NULL: learn objects, from the image in its
                                     own size, with values from 0 to 1 */
    bool has_masks;               /* of objects */
    bool flips;                   /* mirror every other image, left to right */
    const int64_t *labels; /* the model's, for each class of the dataset */
};

/* Start from {0}. */
struct made_sample {
    int64_t label;       /* classifiers: of the image */
    struct tensor image; /* detectors: [3,h,w] */
    struct tensor masks; /* uint8 [n,h,w], or without data */
    float (*boxes)[4];   /* x1 y1 x2 y2 */
    int64_t *labels;     /* of the boxes */
    size_t n;            /* boxes */
    size_t n_cut;        /* boxes that reach out of the image */
    size_t n_left_out;   /* boxes outside of it, without crowds */
};

void sample_release(struct made_sample *sample);

/* Allocates memory that counts as that of images. */
enum assay_status sample_tensor(const struct sample_options *options,
                                enum dtype dtype, const struct shape *shape,
                                struct tensor *out, struct error *err);

/* Cuts a box to an image of this size (0: unknown); false if nothing is
 * left. */
bool sample_cut_box(const struct dataset_object *object, int width, int height,
                    float box[4], bool *is_cut);

/* Reads sample i of the dataset. *random decides whether it is flipped. A
 * classifier's image goes to *image, a detector's becomes a tensor. On failure
 * *out is released; unless it is ASSAY_NOMEM, the sample is at fault and
 * named. */
enum assay_status sample_make(const struct sample_options *options, size_t i,
                              struct random *random, float *image,
                              struct made_sample *out, struct error *err);

#endif
