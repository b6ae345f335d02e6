/* formats/onnx/onnx_ops.c - see onnx_frame_internal.h: finds the mapping of an
 * op type. */
#include "formats/onnx/onnx_frame_internal.h"

#include <string.h>

static const struct onnx_op *const onnx_op_tables[] = {
    onnx_attention_ops,   onnx_sequence_ops,
    onnx_control_ops,     onnx_conv_ops,
    onnx_elementwise_ops, onnx_norm_ops,
    onnx_pool_ops,        onnx_product_ops,
    onnx_quantized_ops,   onnx_random_ops,
    onnx_recurrent_ops,   onnx_reduce_ops,
    onnx_shape_ops,       onnx_signal_ops,
    onnx_vision_ops,      NULL,
};

static bool is_onnx_domain(const char *domain)
{
    return !domain[0] || strcmp(domain, "ai.onnx") == 0;
}

int64_t onnx_opset_find(const struct onnx_opset *opsets, size_t n,
                        const char *domain)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(opsets[i].domain, domain) == 0 ||
            (is_onnx_domain(domain) && is_onnx_domain(opsets[i].domain)))
            return opsets[i].version;
    }
    return 0;
}

const struct onnx_op *onnx_op_find(const struct onnx_node *node, int64_t opset)
{
    if (!is_onnx_domain(node->domain))
        return NULL;
    if (opset == 0) /* files older than opsets */
        opset = 1;
    for (size_t t = 0; onnx_op_tables[t]; t++) {
        for (const struct onnx_op *op = onnx_op_tables[t]; op->op_type; op++) {
            if (opset >= op->first &&
                (opset <= op->last || op->last == ONNX_NOW) &&
                strcmp(op->op_type, node->op_type) == 0)
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
