/* ops/convolution/conv2d_backward_internal.h - the gradients of Conv2d, for its
 * class.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV2D_BACKWARD_INTERNAL_H
#define OPS_CONVOLUTION_CONV2D_BACKWARD_INTERNAL_H

#include "graph/graph.h"

enum assay_status conv2d_backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err);
struct op_reads conv2d_backward_reads(const struct node *node, uint64_t wanted);

#endif
