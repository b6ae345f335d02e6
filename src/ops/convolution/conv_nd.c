/* ops/convolution/conv_nd.c - see conv_nd.h. */
#include "ops/convolution/conv_nd.h"

#include "ops/attr_fields.h"
#include "ops/convolution/conv_channels_internal.h"
#include "ops/convolution/conv_gradient_internal.h"
#include "ops/convolution/conv_nd_internal.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

enum { X, WEIGHT, BIAS, INPUTS };

enum assay_status conv_nd_check(const struct tensor *const *inputs,
                                const struct conv_nd_rule *rule,
                                struct error *err)
{
    const struct shape *x = &inputs[X]->shape, *w = &inputs[WEIGHT]->shape;
    const struct shape *b = inputs[BIAS] ? &inputs[BIAS]->shape : NULL;
    int64_t groups = rule->groups;
    char x_text[64], w_text[64];
    bool fits = x->rank == rule->rank + 2 && w->rank == x->rank && groups > 0 &&
                x->dims[1] % groups == 0;

    if (fits && rule->is_transposed)
        fits = w->dims[0] == x->dims[1] &&
               (!b || (b->rank == 1 && b->dims[0] == w->dims[1] * groups));
    else if (fits)
        fits = w->dims[0] % groups == 0 && w->dims[1] == x->dims[1] / groups &&
               (!b || (b->rank == 1 && b->dims[0] == w->dims[0]));
    if (fits)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT,
        "x %s and weight %s in %lld groups do not fit, or the bias does not",
        shape_text(x, x_text, sizeof x_text),
        shape_text(w, w_text, sizeof w_text), (long long)groups);
}

void conv_nd_count(const struct tensor *weight, size_t elements,
                   struct cost *cost)
{
    uint64_t each = 1;

    for (int i = 1; i < weight->shape.rank; i++)
        each *= (uint64_t)weight->shape.dims[i];
    cost->macs += elements * each;
}

static enum assay_status conv_nd_fit(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct fitted_window *fitted,
                                     struct error *err)
{
    struct window window = ((const struct conv_nd_attrs *)node->attrs)->window;

    for (int i = 0; i < window.rank; i++)
        window.kernel[i] = inputs[WEIGHT]->shape.dims[2 + i];
    return window_fit(&window, &inputs[X]->shape, fitted, err);
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
        conv_nd_check(inputs,
                      &(struct conv_nd_rule){.rank = attrs->window.rank,
                                             .groups = attrs->groups},
                      err);

    if (!st)
        st = conv_nd_fit(node, inputs, &fitted, err);
    if (st)
        return st;
    y.dims[0] = inputs[X]->shape.dims[0];
    y.dims[1] = inputs[WEIGHT]->shape.dims[0];
    window_shape(&attrs->window, &fitted, &y);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* One channel of x under one channel of the kernel, at one position. */
static float conv_nd_window_sum(const struct fitted_window *window,
                                const float *x, const float *w,
                                const int64_t at[WINDOW_MAX_RANK])
{
    int64_t first[WINDOW_MAX_RANK], end[WINDOW_MAX_RANK];
    int64_t begin[WINDOW_MAX_RANK];
    float sum = 0;

    for (int i = 0; i < WINDOW_MAX_RANK; i++) {
        window_reach(window, i, at[i], &first[i], &end[i]);
        begin[i] = at[i] * window->stride[i] - window->before[i];
    }
    for (int64_t i = first[0]; i < end[0]; i++) {
        for (int64_t j = first[1]; j < end[1]; j++) {
            int64_t plane = begin[0] + i * window->dilation[0];
            int64_t row = begin[1] + j * window->dilation[1];
            const float *from =
                x + (plane * window->in[1] + row) * window->in[2] + begin[2];
            const float *kernel =
                w + (i * window->kernel[1] + j) * window->kernel[2];

            for (int64_t k = first[2]; k < end[2]; k++)
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
    const struct shape *w = &inputs[WEIGHT]->shape;
    int64_t group = o / (w->dims[0] / groups), depth = w->dims[1];
    const float *x =
        tensor_f32(inputs[X]) + (n * inputs[X]->shape.dims[1] + group * depth) *
                                    window_volume(window->in);
    const float *weight =
        tensor_f32(inputs[WEIGHT]) + o * depth * window_volume(window->kernel);
    float bias = inputs[BIAS] ? tensor_f32(inputs[BIAS])[o] : 0;
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
    const struct tensor *x = pass->inputs[X], *w = pass->inputs[WEIGHT];
    struct conv_sides sides = {
        .images = x->shape.dims[0],
        .groups = ((const struct conv_nd_attrs *)node->attrs)->groups,
        .small_channels = pass->dy[0]->shape.dims[1],
        .large_channels = x->shape.dims[1]};
    enum assay_status st = conv_nd_fit(node, pass->inputs, &sides.window, err);

    if (st)
        return st;
    if (op_wants(pass, X))
        conv_to_large(context, &sides, tensor_f32(w), tensor_f32(pass->dy[0]),
                      tensor_f32(&pass->dx[X]));
    if (op_wants(pass, WEIGHT))
        conv_to_weight(context, &sides, tensor_f32(pass->dy[0]), tensor_f32(x),
                       tensor_f32(&pass->dx[WEIGHT]));
    if (op_wants(pass, BIAS))
        gradient_channel_sums(context, pass->dy[0], &pass->dx[BIAS]);
    return ASSAY_OK;
}

static void conv_nd_count_cost(const struct node *node,
                               const struct tensor *const *inputs,
                               const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    conv_nd_count(inputs[WEIGHT], tensor_elements(&outputs[0]), cost);
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

/* The padding that makes a map of that size, where the window is not given
 * its own. */
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
    .attrs_bytes = sizeof(struct conv_nd_attrs),
    .fields = conv_nd_fields,
    .min_inputs = INPUTS,
    .max_inputs = INPUTS,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = conv_nd_infer,
    .forward = conv_nd_forward,
    .cost = conv_nd_count_cost,
    .backward = conv_nd_backward,
    .backward_reads = gradient_reads_factors,
    .is_f32 = true,
    .channels = conv_nd_channels,
    .to_onnx = conv_nd_to_onnx,
    .counted = COUNTED_CONV,
    .describe = conv_nd_describe,
};
