/* ops/linear.c - see linear.h. */
#include "ops/linear.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct linear_attrs *linear_attrs(const struct node *node)
{
    assert(node->op == &op_linear);
    return node->attrs;
}

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[LINEAR_X]->shape;
    const struct shape *w = &inputs[LINEAR_WEIGHT]->shape;
    enum assay_status st = rule_rank(inputs, LINEAR_X, 2, err);
    char x_text[64], w_text[64];
    struct shape y;

    (void)node;
    if (!st)
        st = rule_rank(inputs, LINEAR_WEIGHT, 2, err);
    if (st)
        return st;
    if (x->dims[1] != w->dims[1])
        return error_set(err, ASSAY_BAD_INPUT, "x %s and weight %s do not fit",
                         shape_text(x, x_text, sizeof x_text),
                         shape_text(w, w_text, sizeof w_text));
    y = shape_of(2, x->dims[0], w->dims[0]);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return rule_bias(inputs[LINEAR_BIAS], y.dims[1], err);
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    bool has_relu = linear_attrs(node)->has_relu;
    int64_t rows = outputs[0].shape.dims[0], cols = outputs[0].shape.dims[1];
    int64_t depth = inputs[LINEAR_X]->shape.dims[1];
    const float *x = tensor_f32(inputs[LINEAR_X]);
    const float *w = tensor_f32(inputs[LINEAR_WEIGHT]);
    float *y = tensor_f32(&outputs[0]);

    (void)context, (void)err;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            float sum =
                inputs[LINEAR_BIAS] ? tensor_f32(inputs[LINEAR_BIAS])[j] : 0;

            for (int64_t k = 0; k < depth; k++)
                sum += x[i * depth + k] * w[j * depth + k];
            *y++ = has_relu && sum < 0 ? 0 : sum;
        }
    }
    return ASSAY_OK;
}

static void count_cost(const struct node *node,
                       const struct tensor *const *inputs,
                       const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    cost->macs += tensor_elements(&outputs[0]) *
                  (uint64_t)inputs[LINEAR_X]->shape.dims[1];
}

const struct op_class op_linear = {
    .name = "Linear",
    .attrs_bytes = sizeof(struct linear_attrs),
    .min_inputs = LINEAR_INPUTS,
    .max_inputs = LINEAR_INPUTS,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .cost = count_cost,
    .is_f32 = true,
};
