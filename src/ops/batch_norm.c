/* ops/batch_norm.c - see batch_norm.h. */
#include "ops/batch_norm.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <math.h>

const struct batch_norm_attrs *batch_norm_attrs(const struct node *node)
{
    assert(node->op == &op_batch_norm);
    return node->attrs;
}

void batch_norm_affine(const struct node *node,
                       const struct tensor *const *inputs, int64_t channel,
                       float *scale, float *shift)
{
    float variance = tensor_f32(inputs[BATCH_NORM_VARIANCE])[channel];
    float mean = tensor_f32(inputs[BATCH_NORM_MEAN])[channel];

    *scale = tensor_f32(inputs[BATCH_NORM_WEIGHT])[channel] /
             sqrtf(variance + batch_norm_attrs(node)->eps);
    *shift = tensor_f32(inputs[BATCH_NORM_BIAS])[channel] - mean * *scale;
}

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[BATCH_NORM_X]->shape;
    char text[64];

    (void)node;
    if (x->rank < 2)
        return rule_rank(inputs, BATCH_NORM_X, 4, err);
    for (size_t i = 1; i < BATCH_NORM_INPUTS; i++) {
        if (inputs[i]->shape.rank != 1 ||
            inputs[i]->shape.dims[0] != x->dims[1])
            return error_set(err, ASSAY_BAD_INPUT,
                             "input %zu does not fit the channels of %s", i,
                             shape_text(x, text, sizeof text));
    }
    rule_set(&outputs[0], DTYPE_F32, x);
    return ASSAY_OK;
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const float *x = tensor_f32(inputs[BATCH_NORM_X]);
    const struct shape *shape = &inputs[BATCH_NORM_X]->shape;
    float *y = tensor_f32(&outputs[0]);
    size_t plane = 1;

    (void)context, (void)err;
    for (int i = 2; i < shape->rank; i++)
        plane *= (size_t)shape->dims[i];
    for (int64_t n = 0; n < shape->dims[0]; n++) {
        for (int64_t c = 0; c < shape->dims[1]; c++) {
            float scale, shift;

            batch_norm_affine(node, inputs, c, &scale, &shift);
            for (size_t i = 0; i < plane; i++)
                *y++ = *x++ * scale + shift;
        }
    }
    return ASSAY_OK;
}

static void count_cost(const struct node *node,
                       const struct tensor *const *inputs,
                       const struct tensor *outputs, struct cost *cost)
{
    (void)node, (void)inputs;
    cost->flops += 2 * tensor_elements(&outputs[0]);
}

const struct op_class op_batch_norm = {
    .name = "BatchNorm",
    .attrs_bytes = sizeof(struct batch_norm_attrs),
    .min_inputs = BATCH_NORM_INPUTS,
    .max_inputs = BATCH_NORM_INPUTS,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .cost = count_cost,
    .is_f32 = true,
};
