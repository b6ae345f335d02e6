/* ops/detection/roi_pool_internal.h - pools one box from a feature map; for
 * roi_align.c, roi_crop.c and mask_targets.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_POOL_INTERNAL_H
#define OPS_DETECTION_ROI_POOL_INTERNAL_H

#include "ops/detection/bilinear_internal.h"
#include "ops/detection/roi_align.h"

/* One side of a box, divided into bins that are sampled at points. */
struct roi_side {
    float start, bin; /* in pixels of the map */
    int64_t points;   /* per bin */
    int64_t size;     /* of the map */
};

/* The most points per bin, so that a box that is far too large does not take
 * forever. */
enum { ROI_MAX_POINTS = 1 << 10 };

/* points 0: one per pixel of a bin, rounded up. */
struct roi_side roi_make_side(float start, float length, int64_t bins,
                              int64_t points, int64_t size);

/* Where point i of a bin reads, and with which weights; false: outside. */
bool roi_point(const struct roi_side *side, int64_t bin, int64_t i,
               struct tap *tap);

/* A box on the map that it is pooled from. */
struct roi {
    const struct roi_map *map;
    int64_t image;
    int64_t size; /* bins per side */
    struct roi_side down, across;
};

/* A plan holds what a box reads from every channel. It is made once, in memory
 * of roi_plan_bytes(). */
size_t roi_plan_bytes(int64_t size, int64_t points);
void roi_plan(const struct roi *roi, void *memory);

enum { ROI_LANES = 16 }; /* channels of a block */

/* Scratch memory per thread. */
size_t roi_pool_scratch_bytes(int64_t size, int64_t points);

/* Writes the block's channels of [c,size,size]. */
void roi_pool_block(const struct roi *roi, const void *plan, int64_t block,
                    float *scratch, float *output);

/* Adds the gradient of those channels to the gradient of the map, which has the
 * map's layout. dy: [c,size,size]. */
void roi_spread_block(const struct roi *roi, const void *plan, int64_t block,
                      float *scratch, const float *dy, float *map);

#endif
