/* ops/math/binary_gradient_internal.h - gradients of Sum, Mean, Min, Max, Sub,
 * Mul, Div, Pow and PRelu, for their classes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_BINARY_GRADIENT_INTERNAL_H
#define OPS_MATH_BINARY_GRADIENT_INTERNAL_H

#include "graph/graph.h"

enum assay_status binary_backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err);
struct op_reads binary_backward_reads(const struct node *node, uint64_t wanted);

#endif
