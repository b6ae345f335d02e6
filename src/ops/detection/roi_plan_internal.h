/* ops/detection/roi_plan_internal.h - what a box reads of a map, as roi_plan()
 * finds it, and how channels come side by side; for roi_pool.c and
 * roi_spread.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_PLAN_INTERNAL_H
#define OPS_DETECTION_ROI_PLAN_INTERNAL_H

#include "ops/detection/roi_pool_internal.h"

enum { ROI_MAX_TAPS = 2 * ROI_ALIGN_MAX_RATIO };

/* A block of channels, and a quarter of one. */
typedef float roi_vector __attribute__((vector_size(64), aligned(4)));
typedef float roi_quad __attribute__((vector_size(16), aligned(4)));

/* What a row (or a column) of bins reads: which of the axis's lines, and then
 * how many values from the first of what is there. */
struct roi_bin {
    int32_t n;
    float weight[ROI_MAX_TAPS];
    int64_t at[ROI_MAX_TAPS];
};

/* One direction of a box: the lines of the map that it reads, in rising
 * order, each once. A plan is two of them: down, across. */
struct roi_axis {
    int32_t n_lines;
    struct roi_bin *bins;
    int32_t *lines;
};

/* 0: down, 1: across. */
struct roi_axis roi_plan_axis(const struct roi *roi, const void *memory,
                              int which);

/* Whether lines i to i + 3 are neighbours in the map. */
static inline bool roi_has_four(const struct roi_axis *axis, int32_t i)
{
    return i + 3 < axis->n_lines && axis->lines[i + 3] == axis->lines[i] + 3;
}

/* to[i][k] = from[k][i], 4 x 4. */
static inline void roi_transpose(const float *from, int64_t from_stride,
                                 float *to, int64_t to_stride)
{
    roi_quad a = *(const roi_quad *)(const void *)from;
    roi_quad b = *(const roi_quad *)(const void *)(from + from_stride);
    roi_quad c = *(const roi_quad *)(const void *)(from + 2 * from_stride);
    roi_quad d = *(const roi_quad *)(const void *)(from + 3 * from_stride);
    roi_quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    roi_quad ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    roi_quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    roi_quad cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);

    *(roi_quad *)(void *)to =
        __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(roi_quad *)(void *)(to + to_stride) =
        __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(roi_quad *)(void *)(to + 2 * to_stride) =
        __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(roi_quad *)(void *)(to + 3 * to_stride) =
        __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

#endif
