/* formats/onnx/onnx_map_quantized.c - numbers of few bits. */
#include "formats/onnx/onnx_ops_internal.h"
#include "formats/onnx/onnx_window_internal.h"
#include "ops/ops.h"
#include "ops/product/quantize.h"

static void onnx_quantized_import_named(struct onnx_call *call)
{
    onnx_emit(call, op_find(call->node->op_type), NULL);
}

static void import_quantize(struct onnx_call *call)
{
    struct quantize_attrs attrs = {.axis = onnx_int(call, "axis", 1)};

    onnx_emit(call, op_find(call->node->op_type), &attrs);
}

/* Also where the weight's shape is not known before it runs. */
static void onnx_quantized_import_conv(struct onnx_call *call, size_t weight)
{
    const struct tensor *w = onnx_known(call, onnx_input(call, weight));
    struct quantized_conv_attrs attrs = {.groups = onnx_int(call, "group", 1)};

    if (onnx_window_read(call, onnx_window_rank(call, w),
                         w ? w->shape.dims + 2 : NULL, &attrs.window))
        onnx_emit(call, op_find(call->node->op_type), &attrs);
}

static void import_conv_integer(struct onnx_call *call)
{
    onnx_quantized_import_conv(call, 1);
}

static void import_qlinear_conv(struct onnx_call *call)
{
    onnx_quantized_import_conv(call, 3);
}

const struct onnx_op onnx_quantized_ops[] = {
    {"ConvInteger", 10, 17, 2, 4, import_conv_integer},
    {"DequantizeLinear", 10, 17, 2, 3, import_quantize},
    {"DynamicQuantizeLinear", 11, 17, 1, 1, onnx_quantized_import_named},
    {"MatMulInteger", 10, 17, 2, 4, onnx_quantized_import_named},
    {"QLinearConv", 10, 17, 8, 9, import_qlinear_conv},
    {"QLinearMatMul", 10, 17, 8, 8, onnx_quantized_import_named},
    {"QuantizeLinear", 10, 17, 2, 3, import_quantize},
    {0},
};
