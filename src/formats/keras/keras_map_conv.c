/* formats/keras/keras_map_conv.c - convolutions, transposed ones, and dense
 * layers. */
#include "formats/keras/keras_import_internal.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/ops.h"
#include "ops/product/linear.h"

#include <string.h>

static const int64_t kernel_order[] = {3, 2, 0, 1};
static const int64_t depthwise_order[] = {2, 3, 0, 1};
static const int64_t dense_order[] = {1, 0};

enum { most_filters = 1 << 24 };

/* The bias, or GRAPH_NONE if the layer has none. */
static uint32_t keras_conv_read_bias(struct keras_call *call, int64_t n)
{
    struct keras_weight bias = {.name = "bias", .shape = shape_of(1, n)};

    return keras_bool(call, "use_bias", true) ? keras_weight(call, &bias)
                                              : GRAPH_NONE;
}

/* ---- convolutions ------------------------------------------------------- */

static uint32_t emit_conv(struct keras_call *call, uint32_t x,
                          const struct window *window, uint32_t weight,
                          uint32_t bias, int64_t groups)
{
    struct conv2d_attrs attrs = conv2d_defaults();
    struct conv_nd_attrs general = {.window = *window, .groups = groups};
    uint32_t inputs[CONV2D_INPUTS] = {x, weight, bias, GRAPH_NONE};

    if (window->padding != WINDOW_GIVEN)
        return keras_emit(call, &op_conv_nd, &general, inputs, 3);
    memcpy(attrs.stride, window->stride, sizeof attrs.stride);
    memcpy(attrs.dilation, window->dilation, sizeof attrs.dilation);
    memcpy(attrs.before, window->before, sizeof attrs.before);
    memcpy(attrs.after, window->after, sizeof attrs.after);
    attrs.groups = groups;
    return keras_emit(call, &op_conv2d, &attrs, inputs, CONV2D_INPUTS);
}

static void keras_conv_import(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    uint32_t from = keras_images(call, x), weight, bias;
    int64_t filters = keras_int(call, "filters", 0, 1, most_filters);
    int64_t groups = keras_int(call, "groups", 1, 1, most_filters);
    struct window window = keras_window(call, "kernel_size", x);

    if (!keras_failed(call) &&
        (keras_channels(call, x) % groups != 0 || filters % groups != 0))
        keras_fail(call, ASSAY_BAD_INPUT,
                   "%lld groups do not divide %lld channels and %lld filters",
                   (long long)groups, (long long)keras_channels(call, x),
                   (long long)filters);
    if (keras_failed(call))
        return;
    weight = keras_weight(
        call, &(struct keras_weight){
                  .name = "kernel",
                  .shape = shape_of(4, window.kernel[0], window.kernel[1],
                                    keras_channels(call, x) / groups, filters),
                  .order = kernel_order});
    bias = keras_conv_read_bias(call, filters);
    keras_put_images(call,
                     emit_conv(call, from, &window, weight, bias, groups));
    keras_activate(call);
}

/* `multiplier` kernels per channel. */
static uint32_t read_depthwise(struct keras_call *call,
                               const struct window *window, const char *name,
                               int64_t channels, int64_t multiplier)
{
    struct keras_weight weight = {
        .name = name,
        .shape = shape_of(4, window->kernel[0], window->kernel[1], channels,
                          multiplier),
        .order = depthwise_order,
        .as = shape_of(4, channels * multiplier, (int64_t)1, window->kernel[0],
                       window->kernel[1])};

    return keras_weight(call, &weight);
}

static void import_depthwise(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    uint32_t from = keras_images(call, x), weight, bias;
    int64_t channels = keras_channels(call, x);
    int64_t multiplier = keras_int(call, "depth_multiplier", 1, 1, 1 << 16);
    struct window window = keras_window(call, "kernel_size", x);
    bool is_new = call->import->version >= 3;

    weight =
        read_depthwise(call, &window, is_new ? "kernel" : "depthwise_kernel",
                       channels, multiplier);
    bias = keras_conv_read_bias(call, channels * multiplier);
    keras_put_images(call,
                     emit_conv(call, from, &window, weight, bias, channels));
    keras_activate(call);
}

static void import_separable(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    uint32_t from = keras_images(call, x), depthwise, pointwise, bias;
    int64_t channels = keras_channels(call, x);
    int64_t multiplier = keras_int(call, "depth_multiplier", 1, 1, 1 << 16);
    int64_t filters = keras_int(call, "filters", 0, 1, most_filters);
    struct window window = keras_window(call, "kernel_size", x);
    struct window point = {
        .rank = 2, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};

    depthwise =
        read_depthwise(call, &window, "depthwise_kernel", channels, multiplier);
    pointwise = keras_weight(
        call, &(struct keras_weight){
                  .name = "pointwise_kernel",
                  .shape = shape_of(4, (int64_t)1, (int64_t)1,
                                    channels * multiplier, filters),
                  .order = kernel_order});
    bias = keras_conv_read_bias(call, filters);
    from = emit_conv(call, from, &window, depthwise, GRAPH_NONE, channels);
    keras_put_images(call, emit_conv(call, from, &point, pointwise, bias, 1));
    keras_activate(call);
}

/* ---- transposed --------------------------------------------------------- */

/* With "same", y has size * stride positions; else it has at least those that
 * the kernel reaches. TensorFlow cuts the odd one at the end. */
static void fit_transposed(struct keras_call *call,
                           struct conv_transpose_nd_attrs *attrs)
{
    struct window *window = &attrs->window;
    bool is_same = window->padding != WINDOW_GIVEN;

    is_same |= strcmp(keras_text(call, "padding", "valid"), "same") == 0;
    window->padding = WINDOW_GIVEN;
    for (int i = 0; i < 2; i++) {
        int64_t over = window->kernel[i] - window->stride[i];

        window->before[i] = is_same && over > 0 ? over / 2 : 0;
        window->after[i] = is_same && over > 0 ? over - over / 2 : 0;
        attrs->more[i] = over < 0 ? -over : 0;
    }
}

static uint32_t emit_transposed(struct keras_call *call,
                                const struct conv_transpose_nd_attrs *attrs,
                                const uint32_t inputs[3])
{
    const struct window *window = &attrs->window;
    struct conv_transpose2d_attrs plain = {0};

    memcpy(plain.stride, window->stride, sizeof plain.stride);
    memcpy(plain.before, window->before, sizeof plain.before);
    memcpy(plain.after, window->after, sizeof plain.after);
    memcpy(plain.more, attrs->more, sizeof plain.more);
    return keras_emit(call, &op_conv_transpose2d, &plain, inputs, 3);
}

static void keras_conv_import_conv_transpose(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    int64_t filters = keras_int(call, "filters", 0, 1, most_filters);
    uint32_t inputs[3] = {keras_images(call, x)};
    struct conv_transpose_nd_attrs attrs = {
        .groups = 1, .window = keras_window(call, "kernel_size", x)};
    const struct window *window = &attrs.window;

    if (window->dilation[0] > 1 || window->dilation[1] > 1)
        keras_fail(call, ASSAY_UNSUPPORTED, "dilation_rate is not supported");
    if (json_tree_is(keras_get(call, "output_padding"), JSON_NUMBER) ||
        json_tree_is(keras_get(call, "output_padding"), JSON_ARRAY_BEGIN))
        keras_fail(call, ASSAY_UNSUPPORTED, "output_padding is not supported");
    fit_transposed(call, &attrs);
    inputs[1] = keras_weight(
        call, &(struct keras_weight){
                  .name = "kernel",
                  .shape = shape_of(4, window->kernel[0], window->kernel[1],
                                    filters, keras_channels(call, x)),
                  .order = kernel_order});
    inputs[2] = keras_conv_read_bias(call, filters);
    keras_put_images(call, emit_transposed(call, &attrs, inputs));
    keras_activate(call);
}

/* ---- dense -------------------------------------------------------------- */

/* Works on the last dimension, whatever comes before it. */
static void import_dense(struct keras_call *call)
{
    struct keras_value *x = call->inputs[0];
    bool is_flat = x->shape.rank == 2;
    int64_t units = keras_int(call, "units", 0, 1, most_filters);
    uint32_t inputs[LINEAR_INPUTS] = {keras_last(call, x)}, output;

    if (x->shape.rank < 2) {
        keras_fail(call, ASSAY_BAD_INPUT,
                   "its input has no dimension besides the batch");
        return;
    }
    inputs[LINEAR_WEIGHT] = keras_weight(
        call, &(struct keras_weight){
                  .name = "kernel",
                  .shape = shape_of(2, x->shape.dims[x->shape.rank - 1], units),
                  .order = is_flat ? dense_order : NULL});
    inputs[LINEAR_BIAS] = keras_conv_read_bias(call, units);
    if (is_flat) {
        output = keras_emit(call, &op_linear, NULL, inputs, LINEAR_INPUTS);
    } else {
        output = keras_emit(call, &op_matmul, NULL, inputs, 2);
        if (inputs[LINEAR_BIAS] != GRAPH_NONE) {
            inputs[0] = output;
            inputs[1] = inputs[LINEAR_BIAS];
            output = keras_emit(call, &op_sum, NULL, inputs, 2);
        }
    }
    keras_put_last(call, output);
    keras_activate(call);
}

const struct keras_layer keras_conv_layers[] = {
    {"Conv2D", 1, 1, keras_conv_import},
    {"Conv2DTranspose", 1, 1, keras_conv_import_conv_transpose},
    {"Convolution2D", 1, 1, keras_conv_import},
    {"Dense", 1, 1, import_dense},
    {"DepthwiseConv2D", 1, 1, import_depthwise},
    {"SeparableConv2D", 1, 1, import_separable},
    {0},
};
