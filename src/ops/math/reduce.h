/* ops/math/reduce.h - many elements to one, along some axes: ReduceSum,
 * ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2,
 * ReduceLogSum, ReduceLogSumExp, ReduceSumSquare.
 *
 * Inputs: x, and the axes (left out: all).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_REDUCE_H
#define OPS_MATH_REDUCE_H

#include "graph/graph.h"

struct reduce_attrs {
    bool keeps_dims;    /* as dimensions of 1 */
    bool empty_is_none; /* no axes: nothing is reduced */
};

#endif
