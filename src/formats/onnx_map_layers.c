/* formats/onnx_map_layers.c - the layers of networks: convolutions, norms,
 * products with weights. */
#include "formats/onnx_ops.h"
#include "formats/onnx_window.h"
#include "ops/batch_norm.h"
#include "ops/conv2d.h"
#include "ops/linear.h"
#include "ops/max_pool2d.h"
#include "ops/ops.h"

#include <string.h>

static bool has_rank(const struct tensor *known, int rank)
{
    return known && known->shape.rank == rank;
}

/* ---- convolutions ------------------------------------------------------- */

static void import_conv(struct onnx_call *call)
{
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));
    const struct tensor *w = onnx_known(call, onnx_input(call, 1));
    uint32_t inputs[CONV2D_INPUTS] = {onnx_input(call, 0), onnx_input(call, 1),
                                      onnx_input(call, 2), GRAPH_NONE};
    struct conv2d_attrs attrs = conv2d_defaults();
    struct onnx_window window;

    if (!has_rank(w, 4)) {
        onnx_fail(call, ASSAY_UNSUPPORTED, "its weight must be known");
        return;
    }
    if (!onnx_window_read(call, 2, w->shape.dims + 2, &window))
        return;
    if (!onnx_window_fix(&window, x)) {
        onnx_fail(call, ASSAY_UNSUPPORTED, "SAME padding of unknown sizes");
        return;
    }
    for (int i = 0; i < 2; i++) {
        attrs.stride[i] = window.stride[i];
        attrs.dilation[i] = window.dilation[i];
        attrs.before[i] = window.before[i];
        attrs.after[i] = window.after[i];
    }
    attrs.groups = onnx_int(call, "group", 1);
    onnx_emit_inputs(call, &op_conv2d, &attrs, inputs, CONV2D_INPUTS);
}

static void import_max_pool(struct onnx_call *call)
{
    const struct tensor *x = onnx_known(call, onnx_input(call, 0));
    struct max_pool2d_attrs attrs = {.ceil = onnx_int(call, "ceil_mode", 0)};
    struct onnx_window window;

    if (!onnx_window_read(call, 2, NULL, &window) ||
        !onnx_window_fix(&window, x))
        return;
    for (int i = 0; i < 2; i++) {
        attrs.kernel[i] = window.kernel[i];
        attrs.stride[i] = window.stride[i];
        attrs.before[i] = window.before[i];
        attrs.after[i] = window.after[i];
    }
    onnx_emit(call, &op_max_pool2d, &attrs);
}

/* ---- norms -------------------------------------------------------------- */

static void import_batch_norm(struct onnx_call *call)
{
    struct batch_norm_attrs attrs = {.eps = onnx_float(call, "epsilon", 1e-5f)};

    if (onnx_int(call, "training_mode", 0))
        onnx_fail(call, ASSAY_UNSUPPORTED, "training_mode is not supported");
    onnx_emit_outputs(call, &op_batch_norm, &attrs, call->inputs,
                      BATCH_NORM_INPUTS, 1);
}

const struct onnx_op onnx_layer_ops[] = {
    {"BatchNormalization", 7, 17, 5, 5, import_batch_norm},
    {"Conv", 1, 17, 2, 3, import_conv},
    {"MaxPool", 1, 17, 1, 1, import_max_pool},
    {0},
};
