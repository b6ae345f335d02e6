/* ops/math/clip.c - see clip.h. */
#include "ops/math/clip.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

#include <math.h>

const struct clip_attrs *clip_attrs(const struct node *node)
{
    assert(node->op == &op_clip);
    return node->attrs;
}

/* Keeps NaNs. If low exceeds high, high wins. */
static float clip_value(const struct clip_attrs *attrs, float x)
{
    if (x < attrs->low)
        x = attrs->low;
    return x > attrs->high ? attrs->high : x;
}

static enum assay_status clip_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct clip_attrs *attrs = clip_attrs(node);
    const float *x = tensor_f32(inputs[0]);
    float *y = tensor_f32(&outputs[0]);
    size_t n = tensor_elements(&outputs[0]);

    (void)context, (void)err;
    for (size_t i = 0; i < n; i++)
        y[i] = clip_value(attrs, x[i]);
    return ASSAY_OK;
}

/* The slope at the bounds is 0, as for PyTorch's ReLU6. */
static enum assay_status clip_backward(const struct op_context *context,
                                       const struct node *node,
                                       const struct op_backward *pass,
                                       struct error *err)
{
    const struct clip_attrs *attrs = clip_attrs(node);
    const float *y = tensor_f32(&pass->outputs[0]);
    const float *dy = tensor_f32(pass->dy[0]);
    float *dx = tensor_f32(&pass->dx[0]);
    size_t n = tensor_elements(&pass->dx[0]);
    int parts = gradient_parts(context, n);

    (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (size_t i = 0; i < n; i++)
        dx[i] = y[i] <= attrs->low || y[i] >= attrs->high ? 0 : dy[i];
    return ASSAY_OK;
}

static void clip_to_onnx(struct onnx_sink *to)
{
    const struct clip_attrs *attrs = clip_attrs(to->node);
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *inputs[3] = {onnx_name(to, to->node->inputs[0]), "", ""};

    if (!isinf(attrs->low))
        inputs[1] = onnx_add_scalar(to, attrs->low);
    if (!isinf(attrs->high))
        inputs[2] = onnx_add_scalar(to, attrs->high);
    onnx_put_op(to, "Clip", inputs, 3, &y, 1);
}

ATTR_FIELDS(clip, FIELD_FLOAT(clip_attrs, low), FIELD_FLOAT(clip_attrs, high));

const struct op_class op_clip = {
    .name = "Clip",
    OP_ATTRS(clip),
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .infer = rule_same_f32,
    .forward = clip_forward,
    .cost = rule_cost_elementwise,
    .backward = clip_backward,
    .backward_reads = gradient_reads_output,
    .is_cheap = true,
    .is_f32 = true,
    .channels = channel_pass,
    .to_onnx = clip_to_onnx,
    .counted = COUNTED_RELU,
};
