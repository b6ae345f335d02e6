/* backend/cuda/cuda_move.h - each axis of a tensor by a rule of its own:
 * kernels/move.cu, mapped().
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_MOVE_H
#define BACKEND_CUDA_CUDA_MOVE_H

#include "backend/cuda/cuda_walk.h"

enum cuda_rule {
    CUDA_KEEP,
    CUDA_CONSTANT, /* what is outside has a fixed value */
    CUDA_REFLECT,
    CUDA_EDGE,
    CUDA_WRAP,
    CUDA_NEAREST,      /* as ops/movement/resize.c does it */
    CUDA_NEAREST_FLOAT /* as ops/movement/resize_nearest.c does it */
};

struct cuda_mapped_axis {
    int64_t from, to;
    int64_t in_x, in_y;
    int64_t before;
    double scale, start, end;
    int rule, place, nearest;
};

struct cuda_mapping {
    struct cuda_mapped_axis axes[SHAPE_MAX_RANK];
    int rank;
};

/* Sizes and strides of x and y, which keep everything. */
struct cuda_mapping cuda_mapping_of(const struct tensor *x,
                                    const struct tensor *y);
/* Makes y. The stored types are the same. fill: the value of what is outside.
 */
enum assay_status cuda_run_mapping(struct cuda_call *call,
                                   struct cuda_mapping mapping,
                                   const struct tensor *x,
                                   const struct tensor *y, uint64_t fill);

#endif
