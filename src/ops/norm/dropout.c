/* ops/norm/dropout.c - see dropout.h. */
#include "ops/norm/dropout.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct dropout_attrs *dropout_attrs(const struct node *node)
{
    assert(node->op == &op_dropout);
    return node->attrs;
}

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    (void)node, (void)err;
    rule_set(&outputs[0], inputs[0]->dtype, &inputs[0]->shape);
    return ASSAY_OK;
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    (void)context, (void)node, (void)err;
    outputs[0] = tensor_share(inputs[0]);
    return ASSAY_OK;
}

const struct op_class op_dropout = {
    .name = "Dropout",
    .attrs_bytes = sizeof(struct dropout_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .is_view = true,
};
