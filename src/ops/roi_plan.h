/* ops/roi_plan.h - what a box reads of a map, as roi_plan() finds it; for
 * roi_pool.c and roi_spread.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_ROI_PLAN_H
#define OPS_ROI_PLAN_H

#include "ops/roi_pool.h"

enum { ROI_MAX_TAPS = 2 * ROI_ALIGN_MAX_RATIO };

/* A block of channels. */
typedef float roi_vector __attribute__((vector_size(64), aligned(4)));

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
struct roi_axis roi_plan_axis(const struct roi *roi, const void *plan,
                              int which);

#endif
