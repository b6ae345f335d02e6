/* ops/math/cast.h - tensors of another type, and what their shapes are: Cast,
 * Shape, Size.
 *
 * Cast reads x and, where the type is not an attribute, a second input that
 * has it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_CAST_H
#define OPS_MATH_CAST_H

#include "graph/graph.h"

struct cast_attrs {
    enum dtype dtype;
};

struct shape_of_attrs {
    int64_t start, end; /* which dimensions; negative ones from the end */
};

#endif
