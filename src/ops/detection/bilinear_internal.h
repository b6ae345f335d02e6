/* ops/detection/bilinear_internal.h - where a resized row reads its values, as
 * in PyTorch's interpolate(mode="bilinear", align_corners=False).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BILINEAR_INTERNAL_H
#define OPS_DETECTION_BILINEAR_INTERNAL_H

#include <stdint.h>

/* Two neighbours and their weights, which add up to 1. */
struct tap {
    int64_t low, high;
    float low_weight, high_weight;
};

/* For position i of `to`, resized from `from` positions. */
struct tap bilinear_tap(int64_t i, int64_t from, int64_t to);

#endif
