/* ops/math/relu.c - max(x, 0). */
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status relu_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const float *x = tensor_f32(inputs[0]);
    float *y = tensor_f32(&outputs[0]);
    size_t n = tensor_elements(&outputs[0]);

    (void)context, (void)node, (void)err;
    /* Keeps NaNs, as PyTorch does. */
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i];
    return ASSAY_OK;
}

/* The slope at 0 is 0, as in PyTorch, and at a NaN 1. */
static enum assay_status relu_backward(const struct op_context *context,
                                       const struct node *node,
                                       const struct op_backward *pass,
                                       struct error *err)
{
    const float *y = tensor_f32(&pass->outputs[0]);
    const float *dy = tensor_f32(pass->dy[0]);
    float *dx = tensor_f32(&pass->dx[0]);
    size_t n = tensor_elements(&pass->dx[0]);
    int parts = gradient_parts(context, n);

    (void)node, (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (size_t i = 0; i < n; i++)
        dx[i] = y[i] <= 0 ? 0 : dy[i];
    return ASSAY_OK;
}

static void relu_to_onnx(struct onnx_sink *to)
{
    onnx_put_node(to, "Relu", 1);
}

const struct op_class op_relu = {
    .name = "ReLU",
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .infer = rule_same_f32,
    .forward = relu_forward,
    .cost = rule_cost_elementwise,
    .backward = relu_backward,
    .backward_reads = gradient_reads_output,
    .is_cheap = true,
    .is_f32 = true,
    .channels = channel_pass,
    .to_onnx = relu_to_onnx,
    .counted = COUNTED_RELU,
};
