/* ops/product/matmul_backward_internal.h - the gradients of MatMul and Gemm,
 * for their classes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_MATMUL_BACKWARD_INTERNAL_H
#define OPS_PRODUCT_MATMUL_BACKWARD_INTERNAL_H

#include "graph/graph.h"

enum assay_status matmul_backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err);
enum assay_status gemm_backward(const struct op_context *context,
                                const struct node *node,
                                const struct op_backward *pass,
                                struct error *err);

#endif
