/* ops/math/reduce.h - reductions along some axes: ReduceSum, ReduceMean,
 * ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum,
 * ReduceLogSumExp, ReduceSumSquare.
 *
 * Inputs: x, and the axes (left out: all).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_REDUCE_H
#define OPS_MATH_REDUCE_H

#include "graph/graph.h"

struct reduce_attrs {
    bool keeps_dims;    /* reduced dimensions stay, with size 1 */
    bool empty_is_none; /* an empty list of axes reduces nothing */
};

#endif
