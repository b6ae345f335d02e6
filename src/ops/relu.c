/* ops/relu.c - max(x, 0). */
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    (void)node;
    rule_set(&outputs[0], DTYPE_F32, &inputs[0]->shape);
    return rule_dtype(inputs, 0, DTYPE_F32, err);
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const float *x = tensor_f32(inputs[0]);
    float *y = tensor_f32(&outputs[0]);
    size_t n = tensor_elements(&outputs[0]);

    (void)context, (void)node, (void)err;
    /* Written so that a NaN stays one, as PyTorch keeps it. */
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
    return ASSAY_OK;
}

const struct op_class op_relu = {
    .name = "ReLU",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .cost = rule_cost_elementwise,
    .is_f32 = true,
};
