/* ops/math/top_k.h - the largest or smallest elements along an axis, and their
 * indices.
 *
 * Inputs: x, and how many. Equal elements keep their order.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_TOP_K_H
#define OPS_MATH_TOP_K_H

#include "graph/graph.h"

struct top_k_attrs {
    int64_t axis;
    bool is_smallest;
};

#endif
