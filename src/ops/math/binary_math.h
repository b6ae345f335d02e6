/* ops/math/binary_math.h - ops that make each element from one element of each
 * input, which are repeated to a shape that holds them all.
 *
 * Sum, Mean, Min and Max take any number of inputs, the others two. All have
 * one type (Pow: the exponent's may differ), which the output has too; the
 * comparisons make bool.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_BINARY_MATH_H
#define OPS_MATH_BINARY_MATH_H

#include "graph/graph.h"

struct binary_attrs {
    bool is_fmod;  /* Mod: the sign is the dividend's, not the divisor's */
    bool to_right; /* BitShift */
};

#endif
