/* ops/norm/dropout.c - see dropout.h. */
#include "ops/norm/dropout.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct dropout_attrs *dropout_attrs(const struct node *node)
{
    assert(node->op == &op_dropout);
    return node->attrs;
}

static enum assay_status dropout_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    (void)context, (void)node, (void)err;
    outputs[0] = tensor_share(inputs[0]);
    return ASSAY_OK;
}

static void dropout_to_onnx(struct onnx_sink *to)
{
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *inputs[2] = {
        onnx_name(to, to->node->inputs[0]),
        onnx_add_scalar(to, dropout_attrs(to->node)->ratio)};

    onnx_put_op(to, "Dropout", inputs, 2, &y, 1);
}

ATTR_FIELDS(dropout, FIELD_FLOAT(dropout_attrs, ratio));

const struct op_class op_dropout = {
    .name = "Dropout",
    OP_ATTRS(dropout),
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .infer = rule_same,
    .forward = dropout_forward,
    .is_view = true,
    .channels = channel_pass,
    .to_onnx = dropout_to_onnx,
    .counted = COUNTED_PASS,
};
