/* ops/movement/fill_ops.h - tensors made from little: ConstantOfShape, EyeLike,
 * Range, OneHot, Trilu.
 *
 * Inputs: ConstantOfShape: the shape and a tensor of one element to fill it
 * with. EyeLike: x. Range: start, limit, delta. OneHot: indices, depth, the
 * values for off and on. Trilu: x, and the diagonal (left out: 0).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_FILL_OPS_H
#define OPS_MOVEMENT_FILL_OPS_H

#include "graph/graph.h"

struct eye_like_attrs {
    bool has_dtype; /* false: the input's */
    enum dtype dtype;
    int64_t diagonal; /* k: above the main one, where positive */
};

struct one_hot_attrs {
    int64_t axis; /* the new one; -1: the last */
};

struct trilu_attrs {
    bool is_upper; /* keeps what is on the diagonal and above it */
};

#endif
