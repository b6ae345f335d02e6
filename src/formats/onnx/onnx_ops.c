/* formats/onnx/onnx_ops.c - see onnx_frame_internal.h: finds the mapping of an
 * op type. */
#include "formats/onnx/onnx_frame_internal.h"

#include <string.h>

static const struct onnx_table {
    const struct onnx_op *ops;
    const char *domain; /* NULL: ONNX's own */
} onnx_tables[] = {
    {onnx_attention_ops, NULL},   {onnx_sequence_ops, NULL},
    {onnx_control_ops, NULL},     {onnx_conv_ops, NULL},
    {onnx_elementwise_ops, NULL}, {onnx_norm_ops, NULL},
    {onnx_pool_ops, NULL},        {onnx_product_ops, NULL},
    {onnx_quantized_ops, NULL},   {onnx_random_ops, NULL},
    {onnx_recurrent_ops, NULL},   {onnx_reduce_ops, NULL},
    {onnx_shape_ops, NULL},       {onnx_signal_ops, NULL},
    {onnx_vision_ops, NULL},      {onnx_microsoft_ops, "com.microsoft"},
};

enum { n_onnx_tables = sizeof onnx_tables / sizeof *onnx_tables };

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

static bool onnx_table_is_of(const struct onnx_table *table, const char *domain)
{
    return table->domain ? strcmp(table->domain, domain) == 0
                         : is_onnx_domain(domain);
}

const struct onnx_op *onnx_op_find(const struct onnx_node *node, int64_t opset)
{
    if (opset == 0) /* files older than opsets */
        opset = 1;
    for (size_t t = 0; t < n_onnx_tables; t++) {
        const struct onnx_op *op = onnx_tables[t].ops;

        if (!onnx_table_is_of(&onnx_tables[t], node->domain))
            continue;
        for (; op->op_type; op++) {
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
    for (size_t t = 0; t < n_onnx_tables; t++) {
        const char *domain = onnx_tables[t].domain;

        for (const struct onnx_op *op = onnx_tables[t].ops; op->op_type; op++) {
            if (i-- > 0)
                continue;
            *out = (struct onnx_op_support){.domain = domain ? domain : "",
                                            .op_type = op->op_type,
                                            .first = op->first,
                                            .last = op->last};
            return true;
        }
    }
    return false;
}
