/* ops/movement/fill_ops.h - ops that fill a tensor by a rule: ConstantOfShape,
 * EyeLike, Range, OneHot, Trilu.
 *
 * Inputs: ConstantOfShape: the shape, and the value as a tensor of one element.
 * EyeLike: x. Range: start, limit, delta. OneHot: indices, depth, the values
 * for off and on. Trilu: x, and the diagonal (left out: 0).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_FILL_OPS_H
#define OPS_MOVEMENT_FILL_OPS_H

#include "graph/graph.h"

struct eye_like_attrs {
    bool has_dtype; /* false: the input's */
    enum dtype dtype;
    int64_t diagonal; /* k; positive: above the main diagonal */
};

struct one_hot_attrs {
    int64_t axis; /* where the new axis goes; -1: last */
};

struct trilu_attrs {
    bool is_upper; /* keeps the diagonal and above */
};

#endif
