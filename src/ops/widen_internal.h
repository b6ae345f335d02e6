/* ops/widen_internal.h - kernels of a few types for tensors of all types.
 *
 * A kernel that knows float32, float64, int64, uint64 and bool serves the
 * other types too: their tensors are widened before it and the results
 * narrowed after it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_WIDEN_INTERNAL_H
#define OPS_WIDEN_INTERNAL_H

#include "graph/graph.h"

typedef enum assay_status op_kernel(const struct op_context *context,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err);

enum { WIDEN_MAX = 64 }; /* inputs or outputs of a node */

/* Runs the kernel on what a node reads and makes; the outputs are there
 * already. Tensors of the types the kernel knows go through as they are. */
enum assay_status widen_run(op_kernel *kernel, const struct op_context *context,
                            const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err);

/* A forward() of that name, for a kernel. */
#define WIDEN_FORWARD(name, kernel)                                            \
    static enum assay_status name(const struct op_context *context,            \
                                  const struct node *node,                     \
                                  const struct tensor *const *inputs,          \
                                  struct tensor *outputs, struct error *err)   \
    {                                                                          \
        return widen_run(kernel, context, node, inputs, outputs, err);         \
    }

#endif
