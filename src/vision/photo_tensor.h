/* vision/photo_tensor.h - turns pixels into a tensor.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VISION_PHOTO_TENSOR_H
#define VISION_PHOTO_TENSOR_H

#include "picture/picture.h"
#include "tensor/tensor.h"

/* Writes [3,h,w] with values from 0 to 1. */
void photo_spread(const struct picture *picture, float *out);

/* The same as a tensor, which counts as OWNER_IMAGES. Several threads may make
 * one from the same pool at once. */
enum assay_status photo_tensor(const struct picture *picture, struct pool *pool,
                               struct tensor *out, struct error *err);

/* Its pixels as they are, uint8 [h,w,3]: borrowed from the picture. */
enum assay_status photo_pixels(const struct picture *picture,
                               struct tensor *out, struct error *err);

#endif
