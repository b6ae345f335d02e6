/* ops/math/cast.h - types and shapes of tensors: Cast, Shape, Size.
 *
 * Inputs: x; for Cast optionally a second one, which gives the type instead of
 * the attribute.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_CAST_H
#define OPS_MATH_CAST_H

#include "graph/graph.h"
#include "tensor/small_float.h"

struct cast_attrs {
    enum dtype dtype;
    /* For floating point types of 8 bits. */
    bool overflows; /* what is too large becomes infinite or NaN, not the
                       largest number */
    enum scale_rounding rounding; /* of powers of two */
};

struct shape_of_attrs {
    int64_t start, end; /* of the dimensions; negative: from the end */
};

#endif
