/* ops/convolution/conv2d.c - see conv2d.h. */
#include "ops/convolution/conv2d.h"

#include "ops/attr_fields.h"
#include "ops/convolution/conv_internal.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <math.h>

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

const struct op_class *conv2d_activation_op(enum conv2d_activation activation)
{
    switch (activation) {
    case CONV2D_NO_ACTIVATION:
        break;
    case CONV2D_SILU:
        return &op_silu;
    case CONV2D_SIGMOID:
        return &op_sigmoid;
    case CONV2D_HARD_SWISH:
        return &op_hard_swish;
    case CONV2D_MISH:
        return &op_mish;
    case CONV2D_LEAKY_RELU:
        return &op_leaky_relu;
    }
    return NULL;
}

enum conv2d_activation conv2d_activation_of(const struct op_class *op)
{
    for (int i = CONV2D_SILU; i <= CONV2D_LEAKY_RELU; i++) {
        if (conv2d_activation_op((enum conv2d_activation)i) == op)
            return (enum conv2d_activation)i;
    }
    return CONV2D_NO_ACTIVATION;
}

const struct tensor *conv2d_scale(const struct node *node,
                                  const struct tensor *const *inputs)
{
    return op_input(node, inputs, CONV2D_SCALE);
}

static enum assay_status conv2d_check_scale(const struct tensor *scale,
                                            int64_t o, struct error *err)
{
    char text[64];

    if (!scale || (scale->dtype == DTYPE_F32 && scale->shape.rank == 1 &&
                   scale->shape.dims[0] == o))
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT, "a scale of %s does not fit %lld channels",
        shape_text(&scale->shape, text, sizeof text), (long long)o);
}

static enum assay_status conv2d_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    const struct shape *x = &inputs[CONV2D_X]->shape;
    const struct shape *w = &inputs[CONV2D_WEIGHT]->shape;
    enum assay_status st = rule_ranks(inputs, 2, 4, err);
    struct shape y = {.rank = 4};

    if (!st)
        st = conv_check(x, w, attrs->groups, false, err);
    if (!st)
        st = conv2d_check_scale(conv2d_scale(node, inputs), w->dims[0], err);
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
                             "a kernel or padding of more than %d is not "
                             "supported",
                             RULE_MAX_REACH);
    }
    rule_set(&outputs[0], DTYPE_F32, &y);
    st = rule_bias(inputs[CONV2D_BIAS], y.dims[1], err);
    return st ? st : rule_summand(inputs[CONV2D_RESIDUAL], &y, err);
}

/* One output value: the sum over a window in all channels of a group. */
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

static float conv2d_activate(const struct conv2d_attrs *attrs, float value)
{
    switch (attrs->activation) {
    case CONV2D_NO_ACTIVATION:
        break;
    case CONV2D_SILU:
        return value / (1 + expf(-value));
    case CONV2D_SIGMOID:
        return 1 / (1 + expf(-value));
    case CONV2D_HARD_SWISH:
        return value * fminf(fmaxf(value + 3, 0), 6) / 6;
    case CONV2D_MISH:
        return value * tanhf(value > 20 ? value : log1pf(expf(value)));
    case CONV2D_LEAKY_RELU:
        return value < 0 ? attrs->slope * value : value;
    }
    return value;
}

static float conv2d_rectify(const struct conv2d_attrs *attrs, float value)
{
    if (!attrs->has_relu)
        return conv2d_activate(attrs, value);
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
            tensor_f32(y)[at] = conv2d_rectify(attrs, sum);
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

enum { BIT_X = 1 << CONV2D_X, BIT_WEIGHT = 1 << CONV2D_WEIGHT };

static struct op_reads conv2d_backward_reads(const struct node *node,
                                             uint64_t wanted)
{
    struct op_reads reads = {.outputs = conv2d_attrs(node)->has_relu};

    if (wanted & BIT_X)
        reads.inputs |= BIT_WEIGHT;
    if (wanted & BIT_WEIGHT)
        reads.inputs |= BIT_X;
    if (wanted & (BIT_X | BIT_WEIGHT) && node->n_inputs > CONV2D_SCALE)
        reads.inputs |= 1 << CONV2D_SCALE;
    return reads;
}

/* dy times the scale of each channel; dy itself, shared, without a scale. */
static enum assay_status conv2d_apply_scale(const struct op_context *context,
                                            const struct tensor *scale,
                                            const struct tensor *dy,
                                            struct tensor *out,
                                            struct error *err)
{
    int64_t channels = dy->shape.dims[1];
    int64_t plane = shape_span(&dy->shape, 2, 4);
    enum assay_status st;

    if (!scale) {
        *out = tensor_share(dy);
        return ASSAY_OK;
    }
    st = tensor_new(context->pool, DTYPE_F32, &dy->shape, out, err);
    for (int64_t i = 0; !st && i < dy->shape.dims[0] * channels; i++) {
        float factor = tensor_f32(scale)[i % channels];
        const float *from = tensor_f32(dy) + i * plane;
        float *to = tensor_f32(out) + i * plane;

        for (int64_t k = 0; k < plane; k++)
            to[k] = from[k] * factor;
    }
    return st;
}

/* A folded norm is frozen: its scale has no gradient. */
static enum assay_status conv2d_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(node);
    struct tensor dy, dz = {0}; /* before the ReLU; before the scale */
    struct conv_sides sides;
    enum assay_status st =
        gradient_rectify(context, attrs->has_relu, attrs->relu_limit,
                         &pass->outputs[0], pass->dy[0], &dy, err);

    if (!st && attrs->activation)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "an activation that is fused into a convolution cannot "
                       "be trained through; do not fuse the graph");
    if (!st && op_wants(pass, CONV2D_SCALE))
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "a norm that is folded into a convolution cannot be "
                       "trained; do not fuse the graph, or freeze the norm");
    if (!st && pass->wanted & (BIT_X | BIT_WEIGHT))
        st = conv2d_apply_scale(context, conv2d_scale(node, pass->inputs), &dy,
                                &dz, err);
    if (!st && pass->wanted & (BIT_X | BIT_WEIGHT)) {
        sides =
            conv_sides_2d(&pass->inputs[CONV2D_X]->shape, &dz.shape,
                          &pass->inputs[CONV2D_WEIGHT]->shape, attrs->groups,
                          attrs->stride, attrs->dilation, attrs->before);
        conv_backward(context, &sides, pass, &dz, false);
    }
    if (!st && op_wants(pass, CONV2D_BIAS))
        gradient_channel_sums(context, &dy, &pass->dx[CONV2D_BIAS]);
    if (!st && op_wants(pass, CONV2D_RESIDUAL))
        gradient_scale(context, 1, &dy, &pass->dx[CONV2D_RESIDUAL]);
    tensor_release(&dy);
    tensor_release(&dz);
    return st;
}

static void conv2d_channels(struct channels *channels, const struct node *node)
{
    conv_channels(channels, node, conv2d_attrs(node)->groups, CONV2D_RESIDUAL);
}

static void conv2d_to_onnx(struct onnx_sink *to)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(to->node);

    if (attrs->has_relu || attrs->activation ||
        to->node->n_inputs > CONV2D_INPUTS ||
        to->node->inputs[CONV2D_RESIDUAL] != GRAPH_NONE) {
        onnx_refuse(to, "another op is fused into it");
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
        /* The padding of a dense kernel that makes a map of the same size. */
        int64_t spread = (w->dims[2 + i] - 1) * (attrs->dilation[i] - 1);

        numbers->stride[i] = attrs->stride[i];
        numbers->pad[i] = (attrs->before[i] + attrs->after[i] - spread) / 2;
    }
}

static const char *const conv2d_activations[] = {
    [CONV2D_NO_ACTIVATION] = "none",
    [CONV2D_SILU] = "silu",
    [CONV2D_SIGMOID] = "sigmoid",
    [CONV2D_HARD_SWISH] = "hard_swish",
    [CONV2D_MISH] = "mish",
    [CONV2D_LEAKY_RELU] = "leaky_relu",
    NULL};

ATTR_FIELDS(conv2d, FIELD_SIZE(conv2d_attrs, stride),
            FIELD_SIZE(conv2d_attrs, dilation),
            FIELD_AMOUNT(conv2d_attrs, before),
            FIELD_AMOUNT(conv2d_attrs, after), FIELD_SIZE(conv2d_attrs, groups),
            FIELD_FLAG(conv2d_attrs, has_relu),
            FIELD_FLOAT(conv2d_attrs, relu_limit),
            FIELD_WORD(conv2d_attrs, activation, conv2d_activations),
            FIELD_FLOAT(conv2d_attrs, slope));

const struct op_class op_conv2d = {
    .name = "Conv2d",
    OP_ATTRS(conv2d),
    OP_TAKES(CONV2D_INPUTS, CONV2D_SCALE + 1),
    OP_MAKES(1, 1),
    .infer = conv2d_infer,
    .forward = conv2d_forward,
    .cost = conv_cost,
    .backward = conv2d_backward,
    .backward_reads = conv2d_backward_reads,
    .is_f32 = true,
    .channels = conv2d_channels,
    .to_onnx = conv2d_to_onnx,
    .counted = COUNTED_CONV,
    .describe = conv2d_describe,
};
