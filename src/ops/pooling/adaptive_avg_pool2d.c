/* ops/pooling/adaptive_avg_pool2d.c - see adaptive_avg_pool2d.h. */
#include "ops/pooling/adaptive_avg_pool2d.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct adaptive_avg_pool2d_attrs *
adaptive_avg_pool2d_attrs(const struct node *node)
{
    assert(node->op == &op_adaptive_avg_pool2d);
    return node->attrs;
}

static enum assay_status
adaptive_avg_pool2d_infer(const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct adaptive_avg_pool2d_attrs *attrs =
        adaptive_avg_pool2d_attrs(node);
    enum assay_status st = rule_rank(inputs, 0, 4, err);
    struct shape y = inputs[0]->shape;

    if (st)
        return st;
    if (y.dims[2] == 0 || y.dims[3] == 0)
        return error_set(err, ASSAY_BAD_INPUT, "a map of %lldx%lld has no mean",
                         (long long)y.dims[2], (long long)y.dims[3]);
    y.dims[2] = attrs->size[0];
    y.dims[3] = attrs->size[1];
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* The i-th of n windows over size pixels begins at floor(i * size / n) and
 * ends before ceil((i + 1) * size / n). */
static int64_t adaptive_avg_pool2d_first_of(int64_t i, int64_t size, int64_t n)
{
    return i * size / n;
}

static int64_t end_of(int64_t i, int64_t size, int64_t n)
{
    return ((i + 1) * size + n - 1) / n;
}

static float adaptive_avg_pool2d_window_mean(const float *plane, int64_t width,
                                             int64_t top, int64_t bottom,
                                             int64_t left, int64_t right)
{
    float sum = 0;

    for (int64_t i = top; i < bottom; i++) {
        for (int64_t j = left; j < right; j++)
            sum += plane[i * width + j];
    }
    return sum / (float)((bottom - top) * (right - left));
}

static enum assay_status
adaptive_avg_pool2d_forward(const struct op_context *context,
                            const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err)
{
    const int64_t *x = inputs[0]->shape.dims, *y = outputs[0].shape.dims;
    const float *plane = tensor_f32(inputs[0]);
    float *to = tensor_f32(&outputs[0]);

    (void)context, (void)node, (void)err;
    for (int64_t c = 0; c < x[0] * x[1]; c++) {
        for (int64_t i = 0; i < y[2]; i++) {
            for (int64_t j = 0; j < y[3]; j++)
                *to++ = adaptive_avg_pool2d_window_mean(
                    plane, x[3], adaptive_avg_pool2d_first_of(i, x[2], y[2]),
                    end_of(i, x[2], y[2]),
                    adaptive_avg_pool2d_first_of(j, x[3], y[3]),
                    end_of(j, x[3], y[3]));
        }
        plane += x[2] * x[3];
    }
    return ASSAY_OK;
}

/* Every value of a window gets its share of dy. */
static void adaptive_avg_pool2d_spread_share(float *plane, int64_t width,
                                             int64_t top, int64_t bottom,
                                             int64_t left, int64_t right,
                                             float dy)
{
    float share = dy / (float)((bottom - top) * (right - left));

    for (int64_t i = top; i < bottom; i++) {
        for (int64_t j = left; j < right; j++)
            plane[i * width + j] += share;
    }
}

static enum assay_status
adaptive_avg_pool2d_backward(const struct op_context *context,
                             const struct node *node,
                             const struct op_backward *pass, struct error *err)
{
    const int64_t *x = pass->inputs[0]->shape.dims;
    const int64_t *y = pass->dy[0]->shape.dims;
    int parts = gradient_parts(context, tensor_elements(&pass->dx[0]));

    (void)node, (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < x[0] * x[1]; c++) {
        const float *dy = tensor_f32(pass->dy[0]) + c * y[2] * y[3];
        float *dx = tensor_f32(&pass->dx[0]) + c * x[2] * x[3];

        for (int64_t k = 0; k < y[2] * y[3]; k++) {
            int64_t i = k / y[3], j = k % y[3];

            adaptive_avg_pool2d_spread_share(
                dx, x[3], adaptive_avg_pool2d_first_of(i, x[2], y[2]),
                end_of(i, x[2], y[2]),
                adaptive_avg_pool2d_first_of(j, x[3], y[3]),
                end_of(j, x[3], y[3]), dy[k]);
        }
    }
    return ASSAY_OK;
}

static void adaptive_avg_pool2d_count_cost(const struct node *node,
                                           const struct tensor *const *inputs,
                                           const struct tensor *outputs,
                                           struct cost *cost)
{
    (void)node, (void)outputs;
    cost->flops += tensor_elements(inputs[0]);
}

/* Windows of one size, which divide the map: what ONNX can say. */
static void adaptive_avg_pool2d_to_onnx(struct onnx_sink *to)
{
    const struct adaptive_avg_pool2d_attrs *attrs =
        adaptive_avg_pool2d_attrs(to->node);
    const struct shape *x = onnx_input_shape(to, 0);
    int64_t kernel[2];

    if (attrs->size[0] == 1 && attrs->size[1] == 1) {
        onnx_put_node(to, "GlobalAveragePool", 1);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (!x || x->dims[2 + i] % attrs->size[i]) {
            onnx_refuse(to, "its windows differ in size at this size of "
                            "images; give one that its map divides");
            return;
        }
        kernel[i] = x->dims[2 + i] / attrs->size[i];
    }
    onnx_attr_ints(to, "kernel_shape", kernel, 2);
    onnx_attr_ints(to, "strides", kernel, 2);
    onnx_put_node(to, "AveragePool", 1);
}

ATTR_FIELDS(adaptive_avg_pool2d, FIELD_SIZE(adaptive_avg_pool2d_attrs, size));

const struct op_class op_adaptive_avg_pool2d = {
    .name = "AdaptiveAvgPool2d",
    .attrs_bytes = sizeof(struct adaptive_avg_pool2d_attrs),
    .fields = adaptive_avg_pool2d_fields,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = adaptive_avg_pool2d_infer,
    .forward = adaptive_avg_pool2d_forward,
    .cost = adaptive_avg_pool2d_count_cost,
    .backward = adaptive_avg_pool2d_backward,
    .is_f32 = true,
    .channels = channel_window,
    .to_onnx = adaptive_avg_pool2d_to_onnx,
    .counted = COUNTED_AVG_POOL,
};
