/* ops/math/unary_math.h - elementwise ops of one input.
 *
 * The output has the type and shape of the input (IsNaN, IsInf, Not: bool).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_UNARY_MATH_H
#define OPS_MATH_UNARY_MATH_H

#include "graph/graph.h"

/* The meaning of alpha and beta, and ONNX's defaults:
 *   Elu, Celu, ThresholdedRelu, LeakyRelu   alpha (1, 1, 1, 0.01)
 *   HardSigmoid   max(0, min(1, alpha * x + beta)) (0.2, 0.5)
 *   Selu          beta * (x or alpha * (exp(x) - 1)) (1.6733, 1.0507)
 *   Shrink        alpha: lambd, beta: bias (0.5, 0)
 *   IsInf         alpha, beta: whether negative, positive ones count (1, 1) */
struct unary_attrs {
    double alpha, beta;
};

/* Runs a node of these ops on n elements of float32, in any order; y may be x.
 */
void unary_run_f32(const struct op_context *context, const struct node *node,
                   const float *x, float *y, size_t n);
/* The same backward: `read` is x, or y if backward_reads() asks for that; dx
 * may be dy. */
void unary_backward_f32(const struct op_context *context,
                        const struct node *node, const float *read,
                        const float *dy, float *dx, size_t n);

#endif
