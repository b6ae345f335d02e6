/* ops/math/binary_math.h - elementwise ops of several inputs, which are
 * broadcast to one shape.
 *
 * Sum, Mean, Min and Max take any number of inputs, the others two. Inputs and
 * output have one type, except that the exponent of Pow may have another and
 * comparisons make bool.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_BINARY_MATH_H
#define OPS_MATH_BINARY_MATH_H

#include "graph/graph.h"

struct binary_attrs {
    bool is_fmod;  /* Mod: takes the dividend's sign, not the divisor's */
    bool to_right; /* BitShift */
};

#endif
