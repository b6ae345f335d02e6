/* ops/math/add.c - adds two tensors of one shape. */
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status add_infer(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct tensor *outputs, struct error *err)
{
    (void)node;
    rule_set(&outputs[0], DTYPE_F32, &inputs[0]->shape);
    return rule_summand(inputs[1], &inputs[0]->shape, err);
}

static enum assay_status add_forward(const struct op_context *context,
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

static enum assay_status add_backward(const struct op_context *context,
                                      const struct node *node,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    (void)node, (void)err;
    for (size_t i = 0; i < 2; i++) {
        if (op_wants(pass, i))
            gradient_scale(context, 1, pass->dy[0], &pass->dx[i]);
    }
    return ASSAY_OK;
}

const struct op_class op_add = {
    .name = "Add",
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = add_infer,
    .forward = add_forward,
    .cost = rule_cost_elementwise,
    .backward = add_backward,
    .is_cheap = true,
    .is_f32 = true,
    .channels = channel_broadcast,
    .to_onnx = onnx_put_named,
    .counted = COUNTED_ADD,
};
