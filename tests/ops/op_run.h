/* tests/ops/op_run.h - one op on tensors, without a graph.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_OPS_OP_RUN_H
#define TESTS_OPS_OP_RUN_H

#include "ops/ops.h"
#include "test.h"

#include <string.h>

static struct error op_err;

static inline struct pool *op_pool(void)
{
    static struct pool *pool;

    if (!pool)
        CHECK_STATUS(pool_new(&pool, &op_err), ASSAY_OK, &op_err);
    return pool;
}

/* A tensor of the op's pool with a copy of the values; NULL: zeros. */
static inline struct tensor op_tensor(enum dtype dtype, struct shape shape,
                                      const void *values)
{
    struct tensor tensor;

    CHECK_STATUS(tensor_new(op_pool(), dtype, &shape, &tensor, &op_err),
                 ASSAY_OK, &op_err);
    if (values)
        memcpy(tensor_data(&tensor), values, tensor_bytes(&tensor));
    else
        memset(tensor_data(&tensor), 0, tensor_bytes(&tensor));
    return tensor;
}

/* Which kernel, on how many threads. */
struct op_way {
    bool is_reference;
    int n_threads;
};

static const struct op_way op_ways[] = {{true, 1}, {false, 1}, {false, 2}};
enum { OP_WAYS = sizeof op_ways / sizeof *op_ways };

/* Infers where the op can, then runs it. The outputs are the caller's where it
 * went well; the error is in op_err. */
static inline enum assay_status op_run(const struct op_class *op,
                                       const void *attrs, struct op_way way,
                                       const struct tensor *const *inputs,
                                       size_t n_inputs, struct tensor *outputs,
                                       size_t n_outputs)
{
    struct node node = {.op = op,
                        .attrs = (void *)attrs,
                        .n_inputs = n_inputs,
                        .n_outputs = n_outputs};
    struct op_context context = {.pool = op_pool(),
                                 .n_threads = way.n_threads,
                                 .is_reference = way.is_reference};
    enum assay_status st = ASSAY_OK;

    op_err = (struct error){0};
    memset(outputs, 0, n_outputs * sizeof *outputs);
    if (op->infer)
        st = op->infer(&node, inputs, outputs, &op_err);
    for (size_t i = 0; !st && op->infer && i < n_outputs; i++) {
        struct shape shape = outputs[i].shape;

        st = tensor_new(context.pool, outputs[i].dtype, &shape, &outputs[i],
                        &op_err);
    }
    if (!st)
        st = op->forward(&context, &node, inputs, outputs, &op_err);
    for (size_t i = 0; st && i < n_outputs; i++)
        tensor_release(&outputs[i]);
    return st;
}

static inline void op_release(struct tensor *tensors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tensor_release(&tensors[i]);
}

#endif
