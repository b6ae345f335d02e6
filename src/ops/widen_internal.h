/* ops/widen_internal.h - runs kernels that know few types on tensors of any
 * type.
 *
 * The kernel knows float32, float64, int64, uint64 and bool. Inputs of other
 * types are widened before it runs, and its results are narrowed afterwards.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_WIDEN_INTERNAL_H
#define OPS_WIDEN_INTERNAL_H

#include "graph/graph.h"

typedef enum assay_status op_kernel(const struct op_context *context,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err);

/* Runs the kernel; the outputs are allocated already. Tensors of types that
 * the kernel knows are passed as they are. */
enum assay_status widen_run(op_kernel *kernel, const struct op_context *context,
                            const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err);

/* Defines a forward() that runs a kernel this way. */
#define WIDEN_FORWARD(name, kernel)                                            \
    static enum assay_status name(const struct op_context *context,            \
                                  const struct node *node,                     \
                                  const struct tensor *const *inputs,          \
                                  struct tensor *outputs, struct error *err)   \
    {                                                                          \
        return widen_run(kernel, context, node, inputs, outputs, err);         \
    }

#endif
