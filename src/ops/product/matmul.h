/* ops/product/matmul.h - products of matrices: MatMul, Gemm, Det.
 *
 * Inputs: MatMul: a, b, by NumPy's rules. Gemm: a and b of two dimensions, and
 * c (left out: 0), which is broadcast; makes alpha a b + beta c. Det: x.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_MATMUL_H
#define OPS_PRODUCT_MATMUL_H

#include "graph/graph.h"

struct gemm_attrs {
    float alpha, beta;
    bool transposes_a, transposes_b;
};

#endif
