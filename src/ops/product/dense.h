/* ops/product/dense.h - a MatMul by constant weights and what follows it, made
 * at once: y = activation(x W + b) + plus.
 *
 * Inputs: x [...,k], weight [k,n], bias [n] or left out, plus (of y's shape) or
 * left out. The pass of passes/fuse_dense.h makes it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_DENSE_H
#define OPS_PRODUCT_DENSE_H

#include "graph/graph.h"

enum dense_input {
    DENSE_X,
    DENSE_WEIGHT,
    DENSE_BIAS,
    DENSE_PLUS,
    DENSE_INPUTS
};

enum dense_activation { DENSE_NO_ACTIVATION, DENSE_RELU, DENSE_GELU };

struct dense_attrs {
    int activation; /* an enum dense_activation */
};

const struct dense_attrs *dense_attrs(const struct node *node);

#endif
