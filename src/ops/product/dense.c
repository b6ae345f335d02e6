/* ops/product/dense.c - see dense.h. */
#include "ops/product/dense.h"

#include "ops/attr_fields.h"
#include "ops/math/unary_math.h"
#include "ops/ops.h"
#include "ops/product/matrix_internal.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct dense_attrs *dense_attrs(const struct node *node)
{
    assert(node->op == &op_dense);
    return node->attrs;
}

static enum assay_status dense_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct shape *w = &inputs[DENSE_WEIGHT]->shape;
    struct matmul_plan plan;
    enum assay_status st = rule_rank(inputs, DENSE_WEIGHT, 2, err);

    (void)node;
    if (!st)
        st = matmul_plan(&inputs[DENSE_X]->shape, w, &plan, err);
    if (st)
        return st;
    rule_set(&outputs[0], DTYPE_F32, &plan.y);
    st = rule_bias(inputs[DENSE_BIAS], plan.n, err);
    return st || !inputs[DENSE_PLUS]
               ? st
               : rule_summand(inputs[DENSE_PLUS], &plan.y, err);
}

static enum assay_status dense_forward(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct tensor *bias = inputs[DENSE_BIAS], *plus = inputs[DENSE_PLUS];
    enum dense_activation activation =
        (enum dense_activation)dense_attrs(node)->activation;
    struct unary_attrs none = {0};
    struct node gelu = {.op = &op_gelu, .attrs = &none};
    float *y = tensor_f32(&outputs[0]);
    int64_t elements = (int64_t)tensor_elements(&outputs[0]);
    struct matmul_plan plan;
    enum assay_status st = matmul_plan(
        &inputs[DENSE_X]->shape, &inputs[DENSE_WEIGHT]->shape, &plan, err);

    if (st)
        return st;
    matmul_run(context, &plan, DTYPE_F32, tensor_data(inputs[DENSE_X]),
               tensor_data(inputs[DENSE_WEIGHT]), y);
    for (int64_t i = 0; bias && i < elements; i++)
        y[i] += tensor_f32(bias)[i % plan.n];
    for (int64_t i = 0; activation == DENSE_RELU && i < elements; i++)
        y[i] = y[i] < 0 ? 0 : y[i];
    if (activation == DENSE_GELU)
        unary_run_f32(context, &gelu, y, y, (size_t)elements);
    for (int64_t i = 0; plus && i < elements; i++)
        y[i] += tensor_f32(plus)[i];
    return ASSAY_OK;
}

static void dense_count_cost(const struct node *node,
                             const struct tensor *const *inputs,
                             const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    cost->macs += tensor_elements(&outputs[0]) *
                  (uint64_t)inputs[DENSE_WEIGHT]->shape.dims[0];
}

static void dense_describe(const struct node *node,
                           const struct tensor *const *inputs,
                           const struct tensor *outputs,
                           struct layer_numbers *numbers)
{
    (void)node, (void)outputs;
    numbers->summed = inputs[DENSE_WEIGHT]->shape.dims[0];
}

ATTR_FIELDS(dense, FIELD_SMALL(dense_attrs, activation, DENSE_NO_ACTIVATION,
                               DENSE_GELU));

const struct op_class op_dense = {
    .name = "Dense",
    OP_ATTRS(dense),
    OP_TAKES(DENSE_INPUTS, DENSE_INPUTS),
    OP_MAKES(1, 1),
    .infer = dense_infer,
    .forward = dense_forward,
    .cost = dense_count_cost,
    .is_f32 = true,
    .counted = COUNTED_PRODUCT,
    .describe = dense_describe,
};
