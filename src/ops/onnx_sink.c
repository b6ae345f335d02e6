/* ops/onnx_sink.c - see onnx_sink.h. */
#include "ops/onnx_sink.h"

#include <string.h>

void onnx_put_node(struct onnx_sink *to, const char *op_type, size_t n)
{
    const struct node *node = to->node;
    const char *inputs[ONNX_ALL_INPUTS], *outputs[ONNX_ALL_INPUTS];

    if (n > node->n_inputs)
        n = node->n_inputs;
    if (n > ONNX_ALL_INPUTS || node->n_outputs > ONNX_ALL_INPUTS) {
        onnx_refuse(to, "it has too many inputs");
        return;
    }
    for (size_t i = 0; i < n; i++)
        inputs[i] = onnx_name(to, node->inputs[i]);
    for (size_t i = 0; i < node->n_outputs; i++)
        outputs[i] = onnx_name(to, node->outputs[i]);
    onnx_put_op(to, op_type, inputs, n, outputs, node->n_outputs);
}

void onnx_put_named(struct onnx_sink *to)
{
    onnx_put_node(to, to->node->op->name, ONNX_ALL_INPUTS);
}

void onnx_attr_pads(struct onnx_sink *to, const int64_t *before,
                    const int64_t *after, size_t rank)
{
    int64_t pads[2 * SHAPE_MAX_RANK];

    memcpy(pads, before, rank * sizeof *pads);
    memcpy(pads + rank, after, rank * sizeof *pads);
    onnx_attr_ints(to, "pads", pads, 2 * rank);
}

const struct shape *onnx_input_shape(const struct onnx_sink *to, size_t i)
{
    uint32_t value = to->node->inputs[i];

    return value != GRAPH_NONE && to->survey->is_known[value]
               ? &to->survey->values[value].shape
               : NULL;
}
