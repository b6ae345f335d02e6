/* ops/convolution/conv2d.c - see conv2d.h. */
#include "ops/convolution/conv2d.h"

#include "ops/attr_fields.h"
#include "ops/convolution/conv2d_backward_internal.h"
#include "ops/convolution/conv_channels_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

struct conv2d_attrs conv2d_defaults(void)
{
    return (struct conv2d_attrs){
        .stride = {1, 1}, .dilation = {1, 1}, .groups = 1};
}

const struct conv2d_attrs *conv2d_attrs(const struct node *node)
{
    assert(node->op == &op_conv2d);
    return node->attrs;
}

const struct tensor *conv2d_scale(const struct node *node,
                                  const struct tensor *const *inputs)
{
    return node->n_inputs > CONV2D_SCALE ? inputs[CONV2D_SCALE] : NULL;
}

static enum assay_status conv2d_check_channels(const struct conv2d_attrs *attrs,
                                               const struct shape *x,
                                               const struct shape *w,
                                               struct error *err)
{
    char x_text[64], w_text[64];

    if (attrs->groups > 0 && w->dims[0] % attrs->groups == 0 &&
        x->dims[1] % attrs->groups == 0 &&
        w->dims[1] == x->dims[1] / attrs->groups)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT, "x %s and weight %s in %lld groups do not fit",
        shape_text(x, x_text, sizeof x_text),
        shape_text(w, w_text, sizeof w_text), (long long)attrs->groups);
}

static enum assay_status check_scale(const struct tensor *scale, int64_t o,
                                     struct error *err)
{
    char text[64];

    if (!scale || (scale->dtype == DTYPE_F32 && scale->shape.rank == 1 &&
                   scale->shape.dims[0] == o))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "a scale of %s for %lld channels",
                     shape_text(&scale->shape, text, sizeof text),
                     (long long)o);
}

static enum assay_status conv2d_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    enum assay_status st = rule_rank(inputs, CONV2D_X, 4, err);
    const struct shape *x, *w;
    struct shape y = {.rank = 4};

    if (!st)
        st = rule_rank(inputs, CONV2D_WEIGHT, 4, err);
    if (st)
        return st;
    x = &inputs[CONV2D_X]->shape;
    w = &inputs[CONV2D_WEIGHT]->shape;
    st = conv2d_check_channels(attrs, x, w, err);
    if (!st)
        st = check_scale(conv2d_scale(node, inputs), w->dims[0], err);
    if (st)
        return st;
    y.dims[0] = x->dims[0];
    y.dims[1] = w->dims[0];
    for (int i = 0; i < 2; i++) {
        y.dims[2 + i] = rule_windows(x->dims[2 + i], w->dims[2 + i],
                                     attrs->stride[i], attrs->dilation[i],
                                     attrs->before[i], attrs->after[i], false);
        if (y.dims[2 + i] <= 0)
            return error_set(
                err, ASSAY_BAD_INPUT, "a kernel of %lld does not fit into %lld",
                (long long)w->dims[2 + i], (long long)x->dims[2 + i]);
        if (attrs->dilation[i] * (w->dims[2 + i] - 1) > RULE_MAX_REACH ||
            attrs->before[i] > RULE_MAX_REACH ||
            attrs->after[i] > RULE_MAX_REACH)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "a kernel that reaches over more than %d, or as "
                             "much padding",
                             RULE_MAX_REACH);
    }
    rule_set(&outputs[0], DTYPE_F32, &y);
    st = rule_bias(inputs[CONV2D_BIAS], y.dims[1], err);
    return st ? st : rule_summand(inputs[CONV2D_RESIDUAL], &y, err);
}

/* One output value: the sum over a window of one group's channels. */
static float conv2d_window_sum(const struct conv2d_attrs *attrs,
                               const struct shape *x, const struct shape *w,
                               const float *image, const float *kernel,
                               int64_t top, int64_t left)
{
    float sum = 0;

    for (int64_t c = 0; c < w->dims[1]; c++) {
        for (int64_t i = 0; i < w->dims[2]; i++) {
            int64_t row = top + i * attrs->dilation[0];

            if (row < 0 || row >= x->dims[2])
                continue;
            for (int64_t j = 0; j < w->dims[3]; j++) {
                int64_t col = left + j * attrs->dilation[1];

                if (col >= 0 && col < x->dims[3])
                    sum += image[(c * x->dims[2] + row) * x->dims[3] + col] *
                           kernel[(c * w->dims[2] + i) * w->dims[3] + j];
            }
        }
    }
    return sum;
}

static float rectify(const struct conv2d_attrs *attrs, float value)
{
    if (!attrs->has_relu)
        return value;
    if (attrs->relu_limit > 0 && value > attrs->relu_limit)
        return attrs->relu_limit;
    return value < 0 ? 0 : value;
}

static void conv2d_convolve_channel(const struct node *node,
                                    const struct tensor *const *inputs,
                                    const struct tensor *y, int64_t n,
                                    int64_t o)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    const struct tensor *scale = conv2d_scale(node, inputs);
    const struct shape *x = &inputs[CONV2D_X]->shape;
    const struct shape *w = &inputs[CONV2D_WEIGHT]->shape;
    int64_t group = o / (w->dims[0] / attrs->groups);
    int64_t plane = y->shape.dims[2] * y->shape.dims[3];
    int64_t at = (n * y->shape.dims[1] + o) * plane;
    const float *image =
        tensor_f32(inputs[CONV2D_X]) +
        (n * x->dims[1] + group * w->dims[1]) * x->dims[2] * x->dims[3];
    const float *kernel = tensor_f32(inputs[CONV2D_WEIGHT]) +
                          o * w->dims[1] * w->dims[2] * w->dims[3];

    for (int64_t i = 0; i < y->shape.dims[2]; i++) {
        for (int64_t j = 0; j < y->shape.dims[3]; j++, at++) {
            float sum =
                conv2d_window_sum(attrs, x, w, image, kernel,
                                  i * attrs->stride[0] - attrs->before[0],
                                  j * attrs->stride[1] - attrs->before[1]);

            if (scale)
                sum *= tensor_f32(scale)[o];
            if (inputs[CONV2D_BIAS])
                sum += tensor_f32(inputs[CONV2D_BIAS])[o];
            if (inputs[CONV2D_RESIDUAL])
                sum += tensor_f32(inputs[CONV2D_RESIDUAL])[at];
            tensor_f32(y)[at] = rectify(attrs, sum);
        }
    }
}

static enum assay_status conv2d_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    (void)context, (void)err;
    for (int64_t n = 0; n < outputs[0].shape.dims[0]; n++) {
        for (int64_t o = 0; o < outputs[0].shape.dims[1]; o++)
            conv2d_convolve_channel(node, inputs, &outputs[0], n, o);
    }
    return ASSAY_OK;
}

static void conv2d_count_cost(const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *outputs, struct cost *cost)
{
    const struct shape *w = &inputs[CONV2D_WEIGHT]->shape;

    (void)node;
    cost->macs += tensor_elements(&outputs[0]) *
                  (uint64_t)(w->dims[1] * w->dims[2] * w->dims[3]);
}

static void conv2d_channels(struct channels *channels, const struct node *node)
{
    conv_channels(channels, node, conv2d_attrs(node)->groups, CONV2D_RESIDUAL);
}

static void conv2d_to_onnx(struct onnx_sink *to)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(to->node);

    if (attrs->has_relu || to->node->n_inputs > CONV2D_INPUTS ||
        to->node->inputs[CONV2D_RESIDUAL] != GRAPH_NONE) {
        onnx_refuse(to, "something is fused into it");
        return;
    }
    onnx_attr_ints(to, "strides", attrs->stride, 2);
    onnx_attr_ints(to, "dilations", attrs->dilation, 2);
    onnx_attr_pads(to, attrs->before, attrs->after, 2);
    onnx_attr_int(to, "group", attrs->groups);
    onnx_put_node(to, "Conv", CONV2D_RESIDUAL);
}

static void conv2d_describe(const struct node *node,
                            const struct tensor *const *inputs,
                            const struct tensor *outputs,
                            struct layer_numbers *numbers)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    const struct shape *w = &inputs[CONV2D_WEIGHT]->shape;

    (void)outputs;
    numbers->groups = attrs->groups;
    for (int i = 0; i < 2; i++) {
        /* What the padding comes to where a kernel is dilated: the map that
         * comes out has the same size. */
        int64_t spread = (w->dims[2 + i] - 1) * (attrs->dilation[i] - 1);

        numbers->stride[i] = attrs->stride[i];
        numbers->pad[i] = (attrs->before[i] + attrs->after[i] - spread) / 2;
    }
}

ATTR_FIELDS(conv2d, FIELD_SIZE(conv2d_attrs, stride),
            FIELD_SIZE(conv2d_attrs, dilation),
            FIELD_AMOUNT(conv2d_attrs, before),
            FIELD_AMOUNT(conv2d_attrs, after), FIELD_SIZE(conv2d_attrs, groups),
            FIELD_FLAG(conv2d_attrs, has_relu),
            FIELD_FLOAT(conv2d_attrs, relu_limit));

const struct op_class op_conv2d = {
    .name = "Conv2d",
    .attrs_bytes = sizeof(struct conv2d_attrs),
    .fields = conv2d_fields,
    .min_inputs = CONV2D_INPUTS,
    .max_inputs = CONV2D_SCALE + 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = conv2d_infer,
    .forward = conv2d_forward,
    .cost = conv2d_count_cost,
    .backward = conv2d_backward,
    .backward_reads = conv2d_backward_reads,
    .is_f32 = true,
    .channels = conv2d_channels,
    .to_onnx = conv2d_to_onnx,
    .counted = COUNTED_CONV,
    .describe = conv2d_describe,
};
