/* ops/detection/detection_transform.h - makes one batch of photographs of any
 * size.
 *
 * As torchvision's GeneralizedRCNNTransform: normalises, resizes so that the
 * shorter side is min_size and the longer at most max_size, pads with zeros to
 * a common size that is a multiple of size_divisible.
 *
 * Inputs: n images [3,h,w], float32 from 0 to 1. Outputs: batch [n,3,H,W];
 * sizes int64 [n,2], height and width after resizing; original int64 [n,2],
 * before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_DETECTION_TRANSFORM_H
#define OPS_DETECTION_DETECTION_TRANSFORM_H

#include "graph/graph.h"

enum detection_transform_output {
    TRANSFORM_BATCH,
    TRANSFORM_SIZES,
    TRANSFORM_ORIGINAL,
    TRANSFORM_OUTPUTS
};

struct detection_transform_attrs {
    int64_t min_size, max_size;
    int64_t size_divisible;
    float mean[3], std[3];
};

/* The size that an image of height x width is resized to. */
void detection_transform_size(const struct detection_transform_attrs *attrs,
                              int64_t height, int64_t width, int64_t *to_height,
                              int64_t *to_width);

#endif
