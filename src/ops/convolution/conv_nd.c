/* ops/convolution/conv_nd.c - ConvNd and ConvTransposeNd, see conv_nd.h. */
#include "ops/convolution/conv_nd.h"

#include "ops/attr_fields.h"
#include "ops/convolution/conv_internal.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

enum { CONV_INPUTS = CONV_BIAS + 1 };

/* Checks x, weight and bias; rank: of the window. */
static enum assay_status conv_nd_check(const struct tensor *const *inputs,
                                       int rank, int64_t groups,
                                       bool is_transposed, struct error *err)
{
    const struct shape *w = &inputs[CONV_WEIGHT]->shape;
    enum assay_status st = rule_rank(inputs, CONV_X, rank + 2, err);

    if (!st)
        st = conv_check(&inputs[CONV_X]->shape, w, groups, is_transposed, err);
    if (st)
        return st;
    return rule_bias(inputs[CONV_BIAS],
                     is_transposed ? w->dims[1] * groups : w->dims[0], err);
}

/* ---- ConvNd -------------------------------------------------------------- */

static enum assay_status conv_nd_fit(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct fitted_window *fitted,
                                     struct error *err)
{
    struct window window = ((const struct conv_nd_attrs *)node->attrs)->window;

    for (int i = 0; i < window.rank; i++)
        window.kernel[i] = inputs[CONV_WEIGHT]->shape.dims[2 + i];
    return window_fit(&window, &inputs[CONV_X]->shape, fitted, err);
}

static enum assay_status conv_nd_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct conv_nd_attrs *attrs = node->attrs;
    struct fitted_window fitted;
    struct shape y = {0};
    enum assay_status st =
        conv_nd_check(inputs, attrs->window.rank, attrs->groups, false, err);

    if (!st)
        st = conv_nd_fit(node, inputs, &fitted, err);
    if (st)
        return st;
    y.dims[0] = inputs[CONV_X]->shape.dims[0];
    y.dims[1] = inputs[CONV_WEIGHT]->shape.dims[0];
    window_shape(&attrs->window, &fitted, &y);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* One channel of x under one channel of the kernel, at one position. */
static float conv_nd_window_sum(const struct fitted_window *window,
                                const float *x, const float *w,
                                const int64_t at[WINDOW_MAX_RANK])
{
    struct window_place place = window_place(window, at);
    float sum = 0;

    for (int64_t i = place.first[0]; i < place.end[0]; i++) {
        for (int64_t j = place.first[1]; j < place.end[1]; j++) {
            const float *from = x + window_row(window, &place, i, j);
            const float *kernel =
                w + (i * window->kernel[1] + j) * window->kernel[2];

            for (int64_t k = place.first[2]; k < place.end[2]; k++)
                sum += from[k * window->dilation[2]] * kernel[k];
        }
    }
    return sum;
}

/* Channel o of image n. */
static void conv_nd_convolve_channel(const struct node *node,
                                     const struct fitted_window *window,
                                     const struct tensor *const *inputs,
                                     const struct tensor *y, int64_t n,
                                     int64_t o)
{
    int64_t groups = ((const struct conv_nd_attrs *)node->attrs)->groups;
    const struct shape *w = &inputs[CONV_WEIGHT]->shape;
    int64_t group = o / (w->dims[0] / groups), depth = w->dims[1];
    const float *x = tensor_f32(inputs[CONV_X]) +
                     (n * inputs[CONV_X]->shape.dims[1] + group * depth) *
                         window_volume(window->in);
    const float *weight = tensor_f32(inputs[CONV_WEIGHT]) +
                          o * depth * window_volume(window->kernel);
    float bias = inputs[CONV_BIAS] ? tensor_f32(inputs[CONV_BIAS])[o] : 0;
    float *to =
        tensor_f32(y) + (n * w->dims[0] + o) * window_volume(window->out);
    int64_t at[WINDOW_MAX_RANK];

    for (at[0] = 0; at[0] < window->out[0]; at[0]++) {
        for (at[1] = 0; at[1] < window->out[1]; at[1]++) {
            for (at[2] = 0; at[2] < window->out[2]; at[2]++) {
                float sum = bias;

                for (int64_t c = 0; c < depth; c++)
                    sum += conv_nd_window_sum(
                        window, x + c * window_volume(window->in),
                        weight + c * window_volume(window->kernel), at);
                *to++ = sum;
            }
        }
    }
}

static enum assay_status conv_nd_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    int64_t channels = outputs[0].shape.dims[1];
    int64_t n = outputs[0].shape.dims[0] * channels;
    struct fitted_window fitted;
    enum assay_status st = conv_nd_fit(node, inputs, &fitted, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        conv_nd_convolve_channel(node, &fitted, inputs, &outputs[0],
                                 i / channels, i % channels);
    return ASSAY_OK;
}

static enum assay_status conv_nd_backward(const struct op_context *context,
                                          const struct node *node,
                                          const struct op_backward *pass,
                                          struct error *err)
{
    const struct shape *x = &pass->inputs[CONV_X]->shape;
    struct conv_sides sides = {
        .images = x->dims[0],
        .groups = ((const struct conv_nd_attrs *)node->attrs)->groups,
        .small_channels = pass->dy[0]->shape.dims[1],
        .large_channels = x->dims[1]};
    enum assay_status st = conv_nd_fit(node, pass->inputs, &sides.window, err);

    if (st)
        return st;
    conv_backward(context, &sides, pass, pass->dy[0], false);
    if (op_wants(pass, CONV_BIAS))
        gradient_channel_sums(context, pass->dy[0], &pass->dx[CONV_BIAS]);
    return ASSAY_OK;
}

static void conv_nd_channels(struct channels *channels, const struct node *node)
{
    const struct conv_nd_attrs *attrs = node->attrs;

    conv_channels(channels, node, attrs->groups, SIZE_MAX);
}

static void conv_nd_to_onnx(struct onnx_sink *to)
{
    const struct conv_nd_attrs *attrs = to->node->attrs;

    window_to_onnx(to, &attrs->window);
    onnx_attr_int(to, "group", attrs->groups);
    onnx_put_node(to, "Conv", ONNX_ALL_INPUTS);
}

/* The padding is worked out from the sizes, because the window may not give
 * it. */
static void conv_nd_describe(const struct node *node,
                             const struct tensor *const *inputs,
                             const struct tensor *outputs,
                             struct layer_numbers *numbers)
{
    const struct conv_nd_attrs *attrs = node->attrs;
    const int64_t *stride = attrs->window.stride;
    const struct shape *x = &inputs[0]->shape, *w = &inputs[1]->shape;
    const struct shape *y = &outputs[0].shape;

    numbers->groups = attrs->groups;
    for (int i = 0; i < 2 && x->rank == 4; i++) {
        int64_t reach = (y->dims[2 + i] - 1) * stride[i];
        int64_t pad = (reach + w->dims[2 + i] - x->dims[2 + i]) / 2;

        numbers->stride[i] = stride[i];
        numbers->pad[i] = pad > 0 ? pad : 0;
    }
}

ATTR_FIELDS(conv_nd, FIELD_WINDOW(conv_nd_attrs),
            FIELD_SIZE(conv_nd_attrs, groups));

const struct op_class op_conv_nd = {
    .name = "ConvNd",
    OP_ATTRS(conv_nd),
    OP_TAKES(CONV_INPUTS, CONV_INPUTS),
    OP_MAKES(1, 1),
    .infer = conv_nd_infer,
    .forward = conv_nd_forward,
    .cost = conv_cost,
    .backward = conv_nd_backward,
    .backward_reads = gradient_reads_factors,
    .is_f32 = true,
    .channels = conv_nd_channels,
    .to_onnx = conv_nd_to_onnx,
    .counted = COUNTED_CONV,
    .describe = conv_nd_describe,
};

/* ---- ConvTransposeNd ------------------------------------------------------
 */

/* The window moves over y; its positions are the elements of x. */
static enum assay_status
conv_transpose_nd_fit(const struct node *node,
                      const struct tensor *const *inputs,
                      struct fitted_window *over, struct error *err)
{
    const struct conv_transpose_nd_attrs *attrs = node->attrs;
    const struct window *window = &attrs->window;
    int missing = WINDOW_MAX_RANK - window->rank;
    char text[64];

    for (int side = 0; side < WINDOW_MAX_RANK; side++) {
        int i = side - missing;
        int64_t full, cut;

        *over = side ? *over : (struct fitted_window){0};
        over->kernel[side] = i < 0 ? 1 : inputs[CONV_WEIGHT]->shape.dims[2 + i];
        over->stride[side] = i < 0 ? 1 : window->stride[i];
        over->dilation[side] = i < 0 ? 1 : window->dilation[i];
        over->out[side] = i < 0 ? 1 : inputs[CONV_X]->shape.dims[2 + i];
        over->before[side] = i < 0 ? 0 : window->before[i];
        full = (over->out[side] - 1) * over->stride[side] +
               over->dilation[side] * (over->kernel[side] - 1) + 1 +
               (i < 0 ? 0 : attrs->more[i]);
        over->in[side] =
            full - over->before[side] - (i < 0 ? 0 : window->after[i]);
        if (i >= 0 && (attrs->has_shape || window->padding != WINDOW_GIVEN)) {
            over->in[side] = attrs->has_shape
                                 ? attrs->shape[i]
                                 : over->out[side] * over->stride[side];
            cut = full > over->in[side] ? full - over->in[side] : 0;
            over->before[side] =
                window->padding == WINDOW_SAME_UPPER ? cut / 2 : cut - cut / 2;
        }
        if (over->in[side] <= 0)
            return error_set(
                err, ASSAY_BAD_INPUT, "the padding leaves nothing of x %s",
                shape_text(&inputs[CONV_X]->shape, text, sizeof text));
    }
    return ASSAY_OK;
}

static enum assay_status
conv_transpose_nd_infer(const struct node *node,
                        const struct tensor *const *inputs,
                        struct tensor *outputs, struct error *err)
{
    const struct conv_transpose_nd_attrs *attrs = node->attrs;
    struct fitted_window over;
    struct shape y = {0};
    enum assay_status st =
        conv_nd_check(inputs, attrs->window.rank, attrs->groups, true, err);

    if (!st)
        st = conv_transpose_nd_fit(node, inputs, &over, err);
    if (st)
        return st;
    y.rank = attrs->window.rank + 2;
    y.dims[0] = inputs[CONV_X]->shape.dims[0];
    y.dims[1] = inputs[CONV_WEIGHT]->shape.dims[1] * attrs->groups;
    for (int i = 0; i < attrs->window.rank; i++)
        y.dims[2 + i] = over.in[WINDOW_MAX_RANK - attrs->window.rank + i];
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* Adds one element of x, times the kernel, to its window in y. */
static void conv_transpose_nd_spread(const struct fitted_window *over, float x,
                                     const float *w,
                                     const int64_t at[WINDOW_MAX_RANK],
                                     float *y)
{
    struct window_place place = window_place(over, at);

    for (int64_t i = place.first[0]; i < place.end[0]; i++) {
        for (int64_t j = place.first[1]; j < place.end[1]; j++) {
            float *to = y + window_row(over, &place, i, j);
            const float *kernel =
                w + (i * over->kernel[1] + j) * over->kernel[2];

            for (int64_t k = place.first[2]; k < place.end[2]; k++)
                to[k * over->dilation[2]] += x * kernel[k];
        }
    }
}

/* Channel o of image n. */
static void conv_transpose_nd_spread_channel(const struct node *node,
                                             const struct fitted_window *over,
                                             const struct tensor *const *inputs,
                                             const struct tensor *y, int64_t n,
                                             int64_t o)
{
    int64_t groups =
        ((const struct conv_transpose_nd_attrs *)node->attrs)->groups;
    const struct shape *w = &inputs[CONV_WEIGHT]->shape;
    int64_t each = w->dims[1], depth = w->dims[0] / groups, group = o / each;
    int64_t size = window_volume(over->in);
    float *to = tensor_f32(y) + (n * each * groups + o) * size;
    float bias = inputs[CONV_BIAS] ? tensor_f32(inputs[CONV_BIAS])[o] : 0;
    int64_t at[WINDOW_MAX_RANK];

    for (int64_t i = 0; i < size; i++)
        to[i] = bias;
    for (int64_t c = group * depth; c < (group + 1) * depth; c++) {
        const float *x = tensor_f32(inputs[CONV_X]) +
                         (n * w->dims[0] + c) * window_volume(over->out);
        const float *kernel =
            tensor_f32(inputs[CONV_WEIGHT]) +
            (c * each + o % each) * window_volume(over->kernel);

        for (at[0] = 0; at[0] < over->out[0]; at[0]++) {
            for (at[1] = 0; at[1] < over->out[1]; at[1]++) {
                for (at[2] = 0; at[2] < over->out[2]; at[2]++)
                    conv_transpose_nd_spread(over, *x++, kernel, at, to);
            }
        }
    }
}

static enum assay_status
conv_transpose_nd_forward(const struct op_context *context,
                          const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    int64_t channels = outputs[0].shape.dims[1];
    int64_t n = outputs[0].shape.dims[0] * channels;
    struct fitted_window over;
    enum assay_status st = conv_transpose_nd_fit(node, inputs, &over, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        conv_transpose_nd_spread_channel(node, &over, inputs, &outputs[0],
                                         i / channels, i % channels);
    return ASSAY_OK;
}

static enum assay_status
conv_transpose_nd_backward(const struct op_context *context,
                           const struct node *node,
                           const struct op_backward *pass, struct error *err)
{
    const struct shape *x = &pass->inputs[CONV_X]->shape;
    struct conv_sides sides = {
        .images = x->dims[0],
        .groups = ((const struct conv_transpose_nd_attrs *)node->attrs)->groups,
        .small_channels = x->dims[1],
        .large_channels = pass->dy[0]->shape.dims[1]};
    enum assay_status st =
        conv_transpose_nd_fit(node, pass->inputs, &sides.window, err);

    if (st)
        return st;
    conv_backward(context, &sides, pass, pass->dy[0], true);
    if (op_wants(pass, CONV_BIAS))
        gradient_channel_sums(context, pass->dy[0], &pass->dx[CONV_BIAS]);
    return ASSAY_OK;
}

static void conv_transpose_nd_channels(struct channels *channels,
                                       const struct node *node)
{
    const struct conv_transpose_nd_attrs *attrs = node->attrs;

    conv_transpose_channels(channels, node, attrs->groups);
}

static void conv_transpose_nd_to_onnx(struct onnx_sink *to)
{
    const struct conv_transpose_nd_attrs *attrs = to->node->attrs;
    size_t rank = (size_t)attrs->window.rank;

    window_to_onnx(to, &attrs->window);
    onnx_attr_int(to, "group", attrs->groups);
    onnx_attr_ints(to, "output_padding", attrs->more, rank);
    if (attrs->has_shape)
        onnx_attr_ints(to, "output_shape", attrs->shape, rank);
    onnx_put_node(to, "ConvTranspose", ONNX_ALL_INPUTS);
}

ATTR_FIELDS(conv_transpose_nd, FIELD_WINDOW(conv_transpose_nd_attrs),
            FIELD_SIZE(conv_transpose_nd_attrs, groups),
            FIELD_AMOUNT(conv_transpose_nd_attrs, more),
            FIELD_FLAG(conv_transpose_nd_attrs, has_shape),
            FIELD_AMOUNT(conv_transpose_nd_attrs, shape));

const struct op_class op_conv_transpose_nd = {
    .name = "ConvTransposeNd",
    OP_ATTRS(conv_transpose_nd),
    OP_TAKES(CONV_INPUTS, CONV_INPUTS),
    OP_MAKES(1, 1),
    .infer = conv_transpose_nd_infer,
    .forward = conv_transpose_nd_forward,
    .cost = conv_transpose_cost,
    .backward = conv_transpose_nd_backward,
    .backward_reads = gradient_reads_factors,
    .is_f32 = true,
    .channels = conv_transpose_nd_channels,
    .to_onnx = conv_transpose_nd_to_onnx,
};
