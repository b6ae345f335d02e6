/* ops/math/arg_max.h - ops along one axis: the index of an extreme value
 * (ArgMax, ArgMin), running sums (CumSum).
 *
 * Inputs: x; for CumSum also the axis.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_ARG_MAX_H
#define OPS_MATH_ARG_MAX_H

#include "graph/graph.h"

struct arg_max_attrs {
    int64_t axis;
    bool keeps_dims;
    bool takes_last; /* the last of equal values, not the first */
};

struct cum_sum_attrs {
    bool is_exclusive; /* sums leave out the element itself */
    bool is_reverse;   /* sums from the end */
};

#endif
