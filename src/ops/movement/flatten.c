/* ops/movement/flatten.c - [n, a, b, ...] as [n, a * b * ...], sharing the
 * memory. */
#include "ops/channels.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status flatten_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    struct shape y = shape_of(2, (int64_t)1, (int64_t)1);

    (void)node;
    if (x->rank < 1)
        return rule_rank(inputs, 0, 2, err);
    y.dims[0] = x->dims[0];
    for (int i = 1; i < x->rank; i++)
        y.dims[1] *= x->dims[i];
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

static enum assay_status flatten_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    struct shape shape = outputs[0].shape;

    (void)context, (void)node, (void)err;
    outputs[0] = tensor_reshape(inputs[0], &shape);
    return ASSAY_OK;
}

static void flatten_to_onnx(struct onnx_sink *to)
{
    onnx_attr_int(to, "axis", 1);
    onnx_put_node(to, "Flatten", 1);
}

const struct op_class op_flatten = {
    .name = "Flatten",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = flatten_infer,
    .forward = flatten_forward,
    .is_view = true,
    .channels = channel_reshape,
    .to_onnx = flatten_to_onnx,
};
