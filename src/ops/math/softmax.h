/* ops/math/softmax.h - shares of a whole along a dimension: Softmax, its
 * logarithm, and Hardmax, which is 1 for the first of the largest and 0 for the
 * others.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_SOFTMAX_H
#define OPS_MATH_SOFTMAX_H

#include "graph/graph.h"

struct softmax_attrs {
    int axis;     /* negative: counted from the last one */
    bool is_flat; /* over the axis and all behind it, as one */
};

#endif
