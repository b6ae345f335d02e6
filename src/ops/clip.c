/* ops/clip.c - see clip.h. */
#include "ops/clip.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>

const struct clip_attrs *clip_attrs(const struct node *node)
{
    assert(node->op == &op_clip);
    return node->attrs;
}

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    (void)node;
    rule_set(&outputs[0], DTYPE_F32, &inputs[0]->shape);
    return rule_dtype(inputs, 0, DTYPE_F32, err);
}

/* A NaN stays one; where the bounds have changed places, the upper one wins. */
static float clip(const struct clip_attrs *attrs, float x)
{
    if (x < attrs->low)
        x = attrs->low;
    return x > attrs->high ? attrs->high : x;
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const struct clip_attrs *attrs = clip_attrs(node);
    const float *x = tensor_f32(inputs[0]);
    float *y = tensor_f32(&outputs[0]);
    size_t n = tensor_elements(&outputs[0]);

    (void)context, (void)err;
    for (size_t i = 0; i < n; i++)
        y[i] = clip(attrs, x[i]);
    return ASSAY_OK;
}

const struct op_class op_clip = {
    .name = "Clip",
    .attrs_bytes = sizeof(struct clip_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .cost = rule_cost_elementwise,
    .is_f32 = true,
};
