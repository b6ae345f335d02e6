/* tests/ops/op_run.h - runs one op without a graph, and compares its fast
 * kernel with its plain one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_OPS_OP_RUN_H
#define TESTS_OPS_OP_RUN_H

#include "base/random.h"
#include "ops/detection/nms.h"
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

/* A tensor from op_pool with a copy of the values; NULL: zeros. */
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

enum { OP_REFERENCE, OP_FAST, OP_TWO_THREADS, OP_WAYS };
static const struct op_way op_ways[OP_WAYS] = {
    {true, 1}, {false, 1}, {false, 2}};

/* Infers if the op can, then runs it. On success the caller owns the outputs;
 * the error is in op_err. */
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

static inline struct shape dims(int rank, int64_t a, int64_t b, int64_t c,
                                int64_t d)
{
    return (struct shape){.rank = rank, .dims = {a, b, c, d}};
}

static inline struct tensor floats(const float *values, struct shape shape)
{
    return op_tensor(DTYPE_F32, shape, values);
}

static inline struct tensor integers(const int64_t *values, struct shape shape)
{
    return op_tensor(DTYPE_I64, shape, values);
}

static inline struct tensor noise(struct random *random, struct shape shape)
{
    struct tensor tensor = op_tensor(DTYPE_F32, shape, NULL);

    for (size_t i = 0; i < tensor_elements(&tensor); i++)
        tensor_f32(&tensor)[i] = (float)random_normal(random);
    return tensor;
}

static inline void random_boxes(struct random *random, struct box *boxes,
                                size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float x = (float)random_unit(random) * 100;
        float y = (float)random_unit(random) * 100;

        boxes[i] = (struct box){x, y, x + (float)random_unit(random) * 60,
                                y + (float)random_unit(random) * 60};
    }
}

static inline void check_same(const struct tensor *got,
                              const struct tensor *want, double tolerance)
{
    CHECK(shape_equal(&got->shape, &want->shape));
    if (want->dtype != DTYPE_F32) {
        CHECK(memcmp(tensor_data(got), tensor_data(want), tensor_bytes(want)) ==
              0);
        return;
    }
    for (size_t i = 0; i < tensor_elements(want); i++)
        CHECK_NEAR(tensor_f32(got)[i], tensor_f32(want)[i], tolerance);
}

/* Runs the op both ways; 1 and 2 threads must not differ at all. */
static inline void compare_ways(const struct op_class *op, const void *attrs,
                                const struct tensor *const *inputs,
                                size_t n_inputs, size_t n_outputs,
                                double tolerance)
{
    struct tensor out[OP_WAYS][4];

    for (int i = 0; i < OP_WAYS; i++)
        CHECK_STATUS(
            op_run(op, attrs, op_ways[i], inputs, n_inputs, out[i], n_outputs),
            ASSAY_OK, &op_err);
    for (size_t i = 0; i < n_outputs; i++) {
        check_same(&out[1][i], &out[0][i], tolerance);
        check_same(&out[2][i], &out[1][i], 0);
    }
    for (int i = 0; i < OP_WAYS; i++)
        op_release(out[i], n_outputs);
}

static inline size_t suppress(struct op_way way, const struct nms_input *input,
                              uint32_t *kept)
{
    struct op_context context = {.pool = op_pool(),
                                 .n_threads = way.n_threads,
                                 .is_reference = way.is_reference};
    size_t n;

    CHECK_STATUS(nms_run(&context, input, kept, &n, &op_err), ASSAY_OK,
                 &op_err);
    return n;
}

#endif
