/* ops/product/linear.h - y = x W^T + b.
 *
 * Inputs: x [n,k], weight [o,k], bias [o] or left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_LINEAR_H
#define OPS_PRODUCT_LINEAR_H

#include "graph/graph.h"

enum linear_input { LINEAR_X, LINEAR_WEIGHT, LINEAR_BIAS, LINEAR_INPUTS };

struct linear_attrs {
    bool has_relu; /* fused: applied last */
};

const struct linear_attrs *linear_attrs(const struct node *node);

#endif
