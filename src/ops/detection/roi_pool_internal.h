/* ops/detection/roi_pool_internal.h - one box's share of a feature map; for
 * roi_align.c, roi_align_backward.c and roi_crop.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_POOL_INTERNAL_H
#define OPS_DETECTION_ROI_POOL_INTERNAL_H

#include "ops/detection/bilinear_internal.h"
#include "ops/detection/roi_align.h"

/* A box in pixels of the map it is pooled from. */
struct roi {
    const struct roi_map *map;
    int64_t image;
    float x, y;                   /* where it begins */
    float bin_width, bin_height;  /* of an output value */
    int64_t size, sampling_ratio; /* see struct roi_align_attrs */
};

/* Where sample i of a bin reads, and with which weights; false: outside. */
bool roi_sample(float start, float bin_size, int64_t bin, int64_t i,
                int64_t sampling_ratio, int64_t extent, struct tap *tap);

/* What a box reads, whatever the channel; made once, in memory of
 * roi_plan_bytes(). */
size_t roi_plan_bytes(const struct roi_align_attrs *attrs);
void roi_plan(const struct roi *roi, void *memory);

enum { ROI_LANES = 16 }; /* channels of a block */

/* Scratch memory of one thread. */
size_t roi_pool_scratch_bytes(const struct roi_align_attrs *attrs);

/* Writes the block's channels of [c,size,size]. */
void roi_pool_block(const struct roi *roi, const void *plan, int64_t block,
                    float *scratch, float *output);

/* Adds the gradient of those channels to that of the map, which lies in memory
 * as the map does. dy: [c,size,size]. */
void roi_spread_block(const struct roi *roi, const void *plan, int64_t block,
                      float *scratch, const float *dy, float *map);

#endif
