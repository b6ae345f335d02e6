/* ops/pooling/max_pool2d.c - see max_pool2d.h. */
#include "ops/pooling/max_pool2d.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <math.h>

const struct max_pool2d_attrs *max_pool2d_attrs(const struct node *node)
{
    assert(node->op == &op_max_pool2d);
    return node->attrs;
}

static enum assay_status max_pool2d_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);

    return rule_pool2d(inputs,
                       &(struct pool2d_rule){.kernel = attrs->kernel,
                                             .stride = attrs->stride,
                                             .before = attrs->before,
                                             .after = attrs->after,
                                             .ceil = attrs->ceil},
                       outputs, err);
}

/* Where in the plane the largest is; the first of equals, -1 of nothing. */
static int64_t find_max(const struct max_pool2d_attrs *attrs,
                        const struct shape *x, const float *plane, int64_t top,
                        int64_t left)
{
    int64_t bottom = top + attrs->kernel[0], right = left + attrs->kernel[1];
    float best = -INFINITY;
    int64_t found = -1;

    if (bottom > x->dims[2])
        bottom = x->dims[2];
    if (right > x->dims[3])
        right = x->dims[3];
    for (int64_t i = top < 0 ? 0 : top; i < bottom; i++) {
        for (int64_t j = left < 0 ? 0 : left; j < right; j++) {
            int64_t at = i * x->dims[3] + j;

            if (found < 0 || plane[at] > best || isnan(plane[at]))
                best = plane[found = at];
        }
    }
    return found;
}

static enum assay_status max_pool2d_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);
    const struct shape *x = &inputs[0]->shape, *y = &outputs[0].shape;
    const float *plane = tensor_f32(inputs[0]);
    float *to = tensor_f32(&outputs[0]);

    (void)context, (void)err;
    for (int64_t c = 0; c < x->dims[0] * x->dims[1]; c++) {
        for (int64_t i = 0; i < y->dims[2]; i++) {
            for (int64_t j = 0; j < y->dims[3]; j++) {
                int64_t at = find_max(attrs, x, plane,
                                      i * attrs->stride[0] - attrs->before[0],
                                      j * attrs->stride[1] - attrs->before[1]);

                *to++ = at < 0 ? -INFINITY : plane[at];
            }
        }
        plane += x->dims[2] * x->dims[3];
    }
    return ASSAY_OK;
}

/* The largest of each window gets all of its dy. */
static enum assay_status max_pool2d_backward(const struct op_context *context,
                                             const struct node *node,
                                             const struct op_backward *pass,
                                             struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);
    const struct shape *x = &pass->inputs[0]->shape;
    const int64_t *y = pass->dy[0]->shape.dims;
    int parts = gradient_parts(context, tensor_elements(&pass->dx[0]));

    (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < x->dims[0] * x->dims[1]; c++) {
        int64_t size = x->dims[2] * x->dims[3];
        const float *plane = tensor_f32(pass->inputs[0]) + c * size;
        const float *dy = tensor_f32(pass->dy[0]) + c * y[2] * y[3];
        float *dx = tensor_f32(&pass->dx[0]) + c * size;

        for (int64_t i = 0; i < y[2] * y[3]; i++) {
            int64_t at = find_max(
                attrs, x, plane, i / y[3] * attrs->stride[0] - attrs->before[0],
                i % y[3] * attrs->stride[1] - attrs->before[1]);

            if (at >= 0)
                dx[at] += dy[i];
        }
    }
    return ASSAY_OK;
}

static void max_pool2d_to_onnx(struct onnx_sink *to)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(to->node);

    onnx_attr_ints(to, "kernel_shape", attrs->kernel, 2);
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    onnx_attr_pads(to, attrs->before, attrs->after, 2);
    onnx_attr_int(to, "ceil_mode", attrs->ceil);
    onnx_put_node(to, "MaxPool", 1);
}

static void max_pool2d_describe(const struct node *node,
                                const struct tensor *const *inputs,
                                const struct tensor *outputs,
                                struct layer_numbers *numbers)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);

    (void)inputs, (void)outputs;
    numbers->taps = (double)(attrs->kernel[0] * attrs->kernel[1]);
}

ATTR_FIELDS(max_pool2d, FIELD_SIZE(max_pool2d_attrs, kernel),
            FIELD_SIZE(max_pool2d_attrs, stride),
            FIELD_AMOUNT(max_pool2d_attrs, before),
            FIELD_AMOUNT(max_pool2d_attrs, after),
            FIELD_FLAG(max_pool2d_attrs, ceil));

const struct op_class op_max_pool2d = {
    .name = "MaxPool2d",
    .attrs_bytes = sizeof(struct max_pool2d_attrs),
    .fields = max_pool2d_fields,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = max_pool2d_infer,
    .forward = max_pool2d_forward,
    .backward = max_pool2d_backward,
    .backward_reads = gradient_reads_input,
    .is_f32 = true,
    .channels = channel_window,
    .to_onnx = max_pool2d_to_onnx,
    .counted = COUNTED_MAX_POOL,
    .describe = max_pool2d_describe,
};
