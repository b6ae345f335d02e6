/* ops/convolution/conv_transpose_nd.c - convolution backwards, see conv_nd.h.
 */
#include "ops/attr_fields.h"
#include "ops/convolution/conv_channels_internal.h"
#include "ops/convolution/conv_gradient_internal.h"
#include "ops/convolution/conv_nd_internal.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

enum { X, WEIGHT, BIAS, INPUTS };

/* The window as it moves over y, whose positions are the elements of x. */
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
        over->kernel[side] = i < 0 ? 1 : inputs[WEIGHT]->shape.dims[2 + i];
        over->stride[side] = i < 0 ? 1 : window->stride[i];
        over->dilation[side] = i < 0 ? 1 : window->dilation[i];
        over->out[side] = i < 0 ? 1 : inputs[X]->shape.dims[2 + i];
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
            return error_set(err, ASSAY_BAD_INPUT,
                             "nothing would remain of x %s",
                             shape_text(&inputs[X]->shape, text, sizeof text));
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
        conv_nd_check(inputs,
                      &(struct conv_nd_rule){.rank = attrs->window.rank,
                                             .groups = attrs->groups,
                                             .is_transposed = true},
                      err);

    if (!st)
        st = conv_transpose_nd_fit(node, inputs, &over, err);
    if (st)
        return st;
    y.rank = attrs->window.rank + 2;
    y.dims[0] = inputs[X]->shape.dims[0];
    y.dims[1] = inputs[WEIGHT]->shape.dims[1] * attrs->groups;
    for (int i = 0; i < attrs->window.rank; i++)
        y.dims[2 + i] = over.in[WINDOW_MAX_RANK - attrs->window.rank + i];
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* Adds one element of x, times the kernel, where its window lies in y. */
static void conv_transpose_nd_spread(const struct fitted_window *over, float x,
                                     const float *w,
                                     const int64_t at[WINDOW_MAX_RANK],
                                     float *y)
{
    int64_t first[WINDOW_MAX_RANK], end[WINDOW_MAX_RANK];
    int64_t begin[WINDOW_MAX_RANK];

    for (int i = 0; i < WINDOW_MAX_RANK; i++) {
        window_reach(over, i, at[i], &first[i], &end[i]);
        begin[i] = at[i] * over->stride[i] - over->before[i];
    }
    for (int64_t i = first[0]; i < end[0]; i++) {
        for (int64_t j = first[1]; j < end[1]; j++) {
            int64_t plane = begin[0] + i * over->dilation[0];
            int64_t row = begin[1] + j * over->dilation[1];
            float *to =
                y + (plane * over->in[1] + row) * over->in[2] + begin[2];
            const float *kernel =
                w + (i * over->kernel[1] + j) * over->kernel[2];

            for (int64_t k = first[2]; k < end[2]; k++)
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
    const struct shape *w = &inputs[WEIGHT]->shape;
    int64_t each = w->dims[1], depth = w->dims[0] / groups, group = o / each;
    int64_t size = window_volume(over->in);
    float *to = tensor_f32(y) + (n * each * groups + o) * size;
    float bias = inputs[BIAS] ? tensor_f32(inputs[BIAS])[o] : 0;
    int64_t at[WINDOW_MAX_RANK];

    for (int64_t i = 0; i < size; i++)
        to[i] = bias;
    for (int64_t c = group * depth; c < (group + 1) * depth; c++) {
        const float *x = tensor_f32(inputs[X]) +
                         (n * w->dims[0] + c) * window_volume(over->out);
        const float *kernel =
            tensor_f32(inputs[WEIGHT]) +
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
    const struct tensor *x = pass->inputs[X], *w = pass->inputs[WEIGHT];
    struct conv_sides sides = {
        .images = x->shape.dims[0],
        .groups = ((const struct conv_transpose_nd_attrs *)node->attrs)->groups,
        .small_channels = x->shape.dims[1],
        .large_channels = pass->dy[0]->shape.dims[1]};
    enum assay_status st =
        conv_transpose_nd_fit(node, pass->inputs, &sides.window, err);

    if (st)
        return st;
    if (op_wants(pass, X))
        conv_to_small(context, &sides, tensor_f32(w), tensor_f32(pass->dy[0]),
                      tensor_f32(&pass->dx[X]));
    if (op_wants(pass, WEIGHT))
        conv_to_weight(context, &sides, tensor_f32(x), tensor_f32(pass->dy[0]),
                       tensor_f32(&pass->dx[WEIGHT]));
    if (op_wants(pass, BIAS))
        gradient_channel_sums(context, pass->dy[0], &pass->dx[BIAS]);
    return ASSAY_OK;
}

static void conv_transpose_nd_count_cost(const struct node *node,
                                         const struct tensor *const *inputs,
                                         const struct tensor *outputs,
                                         struct cost *cost)
{
    (void)node, (void)outputs;
    conv_nd_count(inputs[WEIGHT], tensor_elements(inputs[X]), cost);
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
    .attrs_bytes = sizeof(struct conv_transpose_nd_attrs),
    .fields = conv_transpose_nd_fields,
    .min_inputs = INPUTS,
    .max_inputs = INPUTS,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = conv_transpose_nd_infer,
    .forward = conv_transpose_nd_forward,
    .cost = conv_transpose_nd_count_cost,
    .backward = conv_transpose_nd_backward,
    .backward_reads = gradient_reads_factors,
    .is_f32 = true,
    .channels = conv_transpose_nd_channels,
    .to_onnx = conv_transpose_nd_to_onnx,
};
