/* detect/photo_tensor.h - pixels become what a model reads.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_PHOTO_TENSOR_H
#define DETECT_PHOTO_TENSOR_H

#include "picture/picture.h"
#include "tensor/tensor.h"

/* Writes [3,h,w] in 0..1. */
void photo_spread(const struct picture *picture, float *out);

/* The same as a tensor. */
enum assay_status photo_tensor(const struct picture *picture, struct pool *pool,
                               struct tensor *out, struct error *err);

#endif
