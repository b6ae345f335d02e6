/* formats/onnx/onnx_map_quantized.c - quantized ops. */
#include "formats/onnx/onnx_import_internal.h"
#include "ops/product/quantize.h"

#include <string.h>

static void import_quantize(struct onnx_call *call)
{
    int64_t dtype = onnx_int(call, "output_dtype", 0);
    struct quantize_attrs attrs = {
        .axis = onnx_int(call, "axis", 1),
        .block = onnx_int(call, "block_size", 0),
        .has_dtype = dtype != 0,
        .dtype = dtype ? onnx_type(call, "output_dtype", 1) : DTYPE_F32,
        .overflows = !onnx_int(call, "saturate", 1)};

    if (attrs.block < 0)
        onnx_fail(call, ASSAY_BAD_INPUT, "block_size is %lld",
                  (long long)attrs.block);
    onnx_emit_named(call, &attrs);
}

/* The weight's shape may be unknown before the model runs. */
static void onnx_quantized_import_conv(struct onnx_call *call)
{
    size_t weight = strcmp(call->node->op_type, "QLinearConv") == 0 ? 3 : 1;
    const struct tensor *w = onnx_known(call, onnx_input(call, weight));
    struct quantized_conv_attrs attrs = {.groups = onnx_int(call, "group", 1)};

    if (onnx_window_read(call, onnx_window_rank(call, w),
                         w ? w->shape.dims + 2 : NULL, &attrs.window))
        onnx_emit_named(call, &attrs);
}

const struct onnx_op onnx_quantized_ops[] = {
    {"ConvInteger", 10, ONNX_NOW, 2, 4, onnx_quantized_import_conv},
    {"DequantizeLinear", 10, ONNX_NOW, 2, 3, import_quantize},
    {"DynamicQuantizeLinear", 11, ONNX_NOW, 1, 1, onnx_import_named},
    {"MatMulInteger", 10, ONNX_NOW, 2, 4, onnx_import_named},
    {"QLinearConv", 10, ONNX_NOW, 8, 9, onnx_quantized_import_conv},
    {"QLinearMatMul", 10, ONNX_NOW, 8, 8, onnx_import_named},
    {"QuantizeLinear", 10, ONNX_NOW, 2, 3, import_quantize},
    {0},
};
