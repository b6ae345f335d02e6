/* formats/onnx/onnx_ops.c - the tables of mappings, and looking into them. */
#include "formats/onnx/onnx_ops_internal.h"

#include <string.h>

const struct onnx_op *const onnx_op_tables[] = {
    onnx_control_ops,     onnx_conv_ops,
    onnx_elementwise_ops, onnx_norm_ops,
    onnx_pool_ops,        onnx_product_ops,
    onnx_quantized_ops,   onnx_random_ops,
    onnx_recurrent_ops,   onnx_reduce_ops,
    onnx_shape_ops,       onnx_signal_ops,
    onnx_vision_ops,      NULL,
};

const struct onnx_op *onnx_op_find(const char *op_type, int64_t opset)
{
    if (opset == 0) /* files older than opsets */
        opset = 1;
    for (size_t t = 0; onnx_op_tables[t]; t++) {
        for (const struct onnx_op *op = onnx_op_tables[t]; op->op_type; op++) {
            if (opset >= op->first && opset <= op->last &&
                strcmp(op->op_type, op_type) == 0)
                return op;
        }
    }
    return NULL;
}

bool onnx_op_support(size_t i, struct onnx_op_support *out)
{
    for (size_t t = 0; onnx_op_tables[t]; t++) {
        for (const struct onnx_op *op = onnx_op_tables[t]; op->op_type; op++) {
            if (i-- > 0)
                continue;
            *out = (struct onnx_op_support){
                .op_type = op->op_type, .first = op->first, .last = op->last};
            return true;
        }
    }
    return false;
}
