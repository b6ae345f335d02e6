/* ops/math/softmax.h - Softmax, LogSoftmax, and Hardmax, which is 1 for the
 * first of the largest values and 0 for the others.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_SOFTMAX_H
#define OPS_MATH_SOFTMAX_H

#include "graph/graph.h"

struct softmax_attrs {
    int axis;     /* negative: from the end */
    bool is_flat; /* the axis and all after it count as one */
};

#endif
