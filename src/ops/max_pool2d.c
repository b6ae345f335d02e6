/* ops/max_pool2d.c - see max_pool2d.h. */
#include "ops/max_pool2d.h"

#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <math.h>

const struct max_pool2d_attrs *max_pool2d_attrs(const struct node *node)
{
    assert(node->op == &op_max_pool2d);
    return node->attrs;
}

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);
    enum assay_status st = rule_rank(inputs, 0, 4, err);
    struct shape y = inputs[0]->shape;

    if (st)
        return st;
    for (int i = 0; i < 2; i++) {
        y.dims[2 + i] =
            rule_windows(y.dims[2 + i], attrs->kernel[i], attrs->stride[i], 1,
                         attrs->before[i], attrs->after[i], attrs->ceil);
        if (y.dims[2 + i] <= 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "a window of %lld does not fit into %lld",
                             (long long)attrs->kernel[i],
                             (long long)inputs[0]->shape.dims[2 + i]);
    }
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static float window_max(const struct max_pool2d_attrs *attrs,
                        const struct shape *x, const float *plane, int64_t top,
                        int64_t left)
{
    float best = -INFINITY;

    for (int64_t i = 0; i < attrs->kernel[0]; i++) {
        if (top + i < 0 || top + i >= x->dims[2])
            continue;
        for (int64_t j = 0; j < attrs->kernel[1]; j++) {
            float value;

            if (left + j < 0 || left + j >= x->dims[3])
                continue;
            value = plane[(top + i) * x->dims[3] + left + j];
            if (value > best || isnan(value))
                best = value;
        }
    }
    return best;
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);
    const struct shape *x = &inputs[0]->shape, *y = &outputs[0].shape;
    const float *plane = tensor_f32(inputs[0]);
    float *to = tensor_f32(&outputs[0]);

    (void)context, (void)err;
    for (int64_t c = 0; c < x->dims[0] * x->dims[1]; c++) {
        for (int64_t i = 0; i < y->dims[2]; i++) {
            for (int64_t j = 0; j < y->dims[3]; j++)
                *to++ = window_max(attrs, x, plane,
                                   i * attrs->stride[0] - attrs->before[0],
                                   j * attrs->stride[1] - attrs->before[1]);
        }
        plane += x->dims[2] * x->dims[3];
    }
    return ASSAY_OK;
}

const struct op_class op_max_pool2d = {
    .name = "MaxPool2d",
    .attrs_bytes = sizeof(struct max_pool2d_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .is_f32 = true,
};
