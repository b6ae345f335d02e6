/* ops/math/arg_max.h - where along an axis something is: ArgMax, ArgMin, and
 * sums up to there: CumSum.
 *
 * Inputs: x; of CumSum also the axis.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_ARG_MAX_H
#define OPS_MATH_ARG_MAX_H

#include "graph/graph.h"

struct arg_max_attrs {
    int64_t axis;
    bool keeps_dims;
    bool takes_last; /* of several equal ones */
};

struct cum_sum_attrs {
    bool is_exclusive; /* without the element itself */
    bool is_reverse;   /* from the end */
};

#endif
