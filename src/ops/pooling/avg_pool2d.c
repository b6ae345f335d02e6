/* ops/pooling/avg_pool2d.c - see avg_pool2d.h. */
#include "ops/pooling/avg_pool2d.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct avg_pool2d_attrs *avg_pool2d_attrs(const struct node *node)
{
    assert(node->op == &op_avg_pool2d);
    return node->attrs;
}

static enum assay_status avg_pool2d_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(node);

    return rule_pool2d(inputs,
                       &(struct pool2d_rule){.kernel = attrs->kernel,
                                             .stride = attrs->stride,
                                             .before = attrs->before,
                                             .after = attrs->after,
                                             .ceil = attrs->ceil},
                       outputs, err);
}

/* Part of a window along one side: from `first` to before `end`, and how much
 * of the window is divided by. */
struct reach {
    int64_t first, end, counted;
};

static struct reach avg_pool2d_reach_of(const struct avg_pool2d_attrs *attrs,
                                        int side, int64_t size, int64_t window)
{
    int64_t from = window * attrs->stride[side] - attrs->before[side];
    int64_t to = from + attrs->kernel[side];
    int64_t padded = size + attrs->after[side];
    struct reach reach = {.first = from < 0 ? 0 : from,
                          .end = to > size ? size : to};

    /* What ceil adds behind the padding is never counted, as in PyTorch. */
    if (attrs->counts_padding)
        reach.counted = (to > padded ? padded : to) - from;
    else
        reach.counted = reach.end - reach.first;
    return reach;
}

static float avg_pool2d_window_mean(const float *plane, int64_t width,
                                    const struct reach *rows,
                                    const struct reach *cols)
{
    float sum = 0;

    for (int64_t i = rows->first; i < rows->end; i++) {
        for (int64_t j = cols->first; j < cols->end; j++)
            sum += plane[i * width + j];
    }
    return sum / (float)(rows->counted * cols->counted);
}

static enum assay_status avg_pool2d_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(node);
    const struct shape *x = &inputs[0]->shape, *y = &outputs[0].shape;
    const float *plane = tensor_f32(inputs[0]);
    float *to = tensor_f32(&outputs[0]);

    (void)context, (void)err;
    for (int64_t c = 0; c < x->dims[0] * x->dims[1]; c++) {
        for (int64_t i = 0; i < y->dims[2]; i++) {
            struct reach rows = avg_pool2d_reach_of(attrs, 0, x->dims[2], i);

            for (int64_t j = 0; j < y->dims[3]; j++) {
                struct reach cols =
                    avg_pool2d_reach_of(attrs, 1, x->dims[3], j);

                *to++ = avg_pool2d_window_mean(plane, x->dims[3], &rows, &cols);
            }
        }
        plane += x->dims[2] * x->dims[3];
    }
    return ASSAY_OK;
}

/* Every value of a window gets its share of dy. */
static void avg_pool2d_spread_share(float *plane, int64_t width,
                                    const struct reach *rows,
                                    const struct reach *cols, float dy)
{
    float share = dy / (float)(rows->counted * cols->counted);

    for (int64_t i = rows->first; i < rows->end; i++) {
        for (int64_t j = cols->first; j < cols->end; j++)
            plane[i * width + j] += share;
    }
}

static enum assay_status avg_pool2d_backward(const struct op_context *context,
                                             const struct node *node,
                                             const struct op_backward *pass,
                                             struct error *err)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(node);
    const int64_t *x = pass->inputs[0]->shape.dims;
    const int64_t *y = pass->dy[0]->shape.dims;
    int parts = gradient_parts(context, tensor_elements(&pass->dx[0]));

    (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < x[0] * x[1]; c++) {
        const float *dy = tensor_f32(pass->dy[0]) + c * y[2] * y[3];
        float *dx = tensor_f32(&pass->dx[0]) + c * x[2] * x[3];

        for (int64_t i = 0; i < y[2] * y[3]; i++) {
            struct reach rows = avg_pool2d_reach_of(attrs, 0, x[2], i / y[3]);
            struct reach cols = avg_pool2d_reach_of(attrs, 1, x[3], i % y[3]);

            avg_pool2d_spread_share(dx, x[3], &rows, &cols, dy[i]);
        }
    }
    return ASSAY_OK;
}

static void avg_pool2d_count_cost(const struct node *node,
                                  const struct tensor *const *inputs,
                                  const struct tensor *outputs,
                                  struct cost *cost)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(node);

    (void)inputs;
    cost->flops += tensor_elements(&outputs[0]) *
                   (uint64_t)(attrs->kernel[0] * attrs->kernel[1]);
}

static void avg_pool2d_to_onnx(struct onnx_sink *to)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(to->node);

    onnx_attr_ints(to, "kernel_shape", attrs->kernel, 2);
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    onnx_attr_pads(to, attrs->before, attrs->after, 2);
    onnx_attr_int(to, "ceil_mode", attrs->ceil);
    onnx_attr_int(to, "count_include_pad", attrs->counts_padding);
    onnx_put_node(to, "AveragePool", 1);
}

ATTR_FIELDS(avg_pool2d, FIELD_SIZE(avg_pool2d_attrs, kernel),
            FIELD_SIZE(avg_pool2d_attrs, stride),
            FIELD_AMOUNT(avg_pool2d_attrs, before),
            FIELD_AMOUNT(avg_pool2d_attrs, after),
            FIELD_FLAG(avg_pool2d_attrs, ceil),
            FIELD_FLAG(avg_pool2d_attrs, counts_padding));

const struct op_class op_avg_pool2d = {
    .name = "AvgPool2d",
    .attrs_bytes = sizeof(struct avg_pool2d_attrs),
    .fields = avg_pool2d_fields,
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = avg_pool2d_infer,
    .forward = avg_pool2d_forward,
    .cost = avg_pool2d_count_cost,
    .backward = avg_pool2d_backward,
    .is_f32 = true,
    .channels = channel_window,
    .to_onnx = avg_pool2d_to_onnx,
    .counted = COUNTED_AVG_POOL,
};
