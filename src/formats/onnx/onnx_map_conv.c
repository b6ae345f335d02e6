/* formats/onnx/onnx_map_conv.c - convolutions and transposed convolutions. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_nd.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/movement/shape_views.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <string.h>

enum { X, WEIGHT, BIAS, INPUTS };

/* Reads the window of a convolution; the weight has the kernel's sizes. */
static bool onnx_conv_read_window(struct onnx_call *call, struct window *window)
{
    const struct tensor *w = onnx_known(call, onnx_input(call, WEIGHT));
    const struct tensor *x = onnx_known(call, onnx_input(call, X));
    int rank = onnx_window_rank(call, w ? w : x);

    if (!rank) {
        onnx_fail(call, ASSAY_UNSUPPORTED,
                  "neither kernel_shape nor the weight's shape is known");
        return false;
    }
    return onnx_window_read(
        call, rank, w && w->shape.rank == rank + 2 ? w->shape.dims + 2 : NULL,
        window);
}

/* ---- Conv --------------------------------------------------------------- */

static struct conv2d_attrs conv2d_of(const struct window *window, int first,
                                     int64_t groups)
{
    struct conv2d_attrs attrs = conv2d_defaults();

    for (int i = 0; i < window->rank; i++) {
        attrs.stride[first + i] = window->stride[i];
        attrs.dilation[first + i] = window->dilation[i];
        attrs.before[first + i] = window->before[i];
        attrs.after[first + i] = window->after[i];
    }
    attrs.groups = groups;
    return attrs;
}

/* Inserts a dimension of size 1 after the first two; a constant stays one. */
static uint32_t onnx_conv_add_row(struct onnx_call *call, uint32_t value)
{
    static const int64_t axis = 2;
    const struct tensor *constant = onnx_constant(call, value);
    uint32_t inputs[2] = {value};

    if (constant && constant->shape.rank == 3) {
        struct shape shape =
            shape_of(4, constant->shape.dims[0], constant->shape.dims[1],
                     (int64_t)1, constant->shape.dims[2]);

        return onnx_new_constant(call, tensor_reshape(constant, &shape));
    }
    inputs[1] = onnx_new_i64s(call, &axis, 1);
    return onnx_step(call, &op_unsqueeze, NULL, inputs, 2);
}

/* A 1-D convolution is a 2-D one over a picture of one row. */
static void emit_conv1d(struct onnx_call *call, const struct window *window,
                        int64_t groups)
{
    static const int64_t axis = 2;
    struct conv2d_attrs attrs = conv2d_of(window, 1, groups);
    uint32_t inputs[CONV2D_INPUTS] = {
        onnx_conv_add_row(call, onnx_input(call, X)),
        onnx_conv_add_row(call, onnx_input(call, WEIGHT)),
        onnx_input(call, BIAS), GRAPH_NONE};
    uint32_t last[2];

    last[0] = onnx_step(call, &op_conv2d, &attrs, inputs, CONV2D_INPUTS);
    last[1] = onnx_new_i64s(call, &axis, 1);
    onnx_emit_inputs(call, &op_squeeze, NULL, last, 2);
}

/* Whether the reach is within the limits of Conv2d. */
static bool is_modest(const struct window *window)
{
    bool is_modest = true;

    for (int i = 0; i < window->rank; i++)
        is_modest &=
            window->dilation[i] * (window->kernel[i] - 1) <= RULE_MAX_REACH &&
            window->before[i] <= RULE_MAX_REACH &&
            window->after[i] <= RULE_MAX_REACH;
    return is_modest;
}

static void onnx_conv_import(struct onnx_call *call)
{
    const struct tensor *x = onnx_known(call, onnx_input(call, X));
    uint32_t inputs[CONV2D_INPUTS] = {onnx_input(call, X),
                                      onnx_input(call, WEIGHT),
                                      onnx_input(call, BIAS), GRAPH_NONE};
    int64_t groups = onnx_int(call, "group", 1);
    struct window window;
    bool is_fixed;

    if (!onnx_conv_read_window(call, &window))
        return;
    is_fixed = onnx_window_fix(&window, x) && is_modest(&window);
    if (is_fixed && window.rank == 2) {
        struct conv2d_attrs attrs = conv2d_of(&window, 0, groups);

        onnx_emit_inputs(call, &op_conv2d, &attrs, inputs, CONV2D_INPUTS);
    } else if (is_fixed && window.rank == 1) {
        emit_conv1d(call, &window, groups);
    } else {
        struct conv_nd_attrs attrs = {.window = window, .groups = groups};

        onnx_emit_inputs(call, &op_conv_nd, &attrs, inputs, INPUTS);
    }
}

/* ---- ConvTranspose ------------------------------------------------------ */

/* Whether ConvTranspose2d can do it: no groups, dilation or given sizes, and
 * output padding below the stride, because oneDNN has no kernel for more. */
static bool onnx_conv_is_plain(const struct conv_transpose_nd_attrs *attrs)
{
    const struct window *window = &attrs->window;
    bool is_plain = window->rank == 2 && attrs->groups == 1 &&
                    !attrs->has_shape && window->padding == WINDOW_GIVEN;

    for (int i = 0; i < window->rank; i++)
        is_plain &= attrs->more[i] < window->stride[i] &&
                    window->dilation[i] == 1 && window->before[i] >= 0 &&
                    window->after[i] >= 0;
    return is_plain;
}

static void onnx_conv_import_conv_transpose(struct onnx_call *call)
{
    uint32_t inputs[INPUTS] = {onnx_input(call, X), onnx_input(call, WEIGHT),
                               onnx_input(call, BIAS)};
    struct conv_transpose_nd_attrs attrs = {
        .groups = onnx_int(call, "group", 1),
        .has_shape = onnx_has(call, "output_shape")};
    size_t rank;

    if (!onnx_conv_read_window(call, &attrs.window))
        return;
    rank = (size_t)attrs.window.rank;
    onnx_window_list(call, "output_padding", 0, attrs.more, rank);
    onnx_window_list(call, "output_shape", 1, attrs.shape, rank);
    if (onnx_conv_is_plain(&attrs)) {
        struct conv_transpose2d_attrs plain;

        memcpy(plain.stride, attrs.window.stride, sizeof plain.stride);
        memcpy(plain.before, attrs.window.before, sizeof plain.before);
        memcpy(plain.after, attrs.window.after, sizeof plain.after);
        memcpy(plain.more, attrs.more, sizeof plain.more);
        plain.has_relu = false;
        onnx_emit_inputs(call, &op_conv_transpose2d, &plain, inputs, INPUTS);
    } else {
        onnx_emit_inputs(call, &op_conv_transpose_nd, &attrs, inputs, INPUTS);
    }
}

const struct onnx_op onnx_conv_ops[] = {
    {"Conv", 1, ONNX_NOW, 2, 3, onnx_conv_import},
    {"ConvTranspose", 1, ONNX_NOW, 2, 3, onnx_conv_import_conv_transpose},
    {0},
};
