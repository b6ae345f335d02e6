/* ops/add.c - a + b of one shape. */
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    char a[64], b[64];

    (void)node;
    rule_set(&outputs[0], DTYPE_F32, &inputs[0]->shape);
    if (shape_equal(&inputs[0]->shape, &inputs[1]->shape))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "%s and %s cannot be added",
                     shape_text(&inputs[0]->shape, a, sizeof a),
                     shape_text(&inputs[1]->shape, b, sizeof b));
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const float *a = tensor_f32(inputs[0]), *b = tensor_f32(inputs[1]);
    float *y = tensor_f32(&outputs[0]);
    size_t n = tensor_elements(&outputs[0]);

    (void)context, (void)node, (void)err;
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
    return ASSAY_OK;
}

const struct op_class op_add = {
    .name = "Add",
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .cost = rule_cost_elementwise,
    .is_f32 = true,
};
