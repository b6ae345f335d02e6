/* ops/detection/mask_select.c - MaskSelect, see mask_ops.h. */
#include "ops/detection/mask_ops.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

enum { LOGITS, LABELS, INPUTS };

static enum assay_status mask_select_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    enum assay_status st = rule_rank(inputs, LOGITS, 4, err);
    struct shape y = inputs[LOGITS]->shape;

    (void)node;
    if (!st)
        st = rule_rank(inputs, LABELS, 1, err);
    if (!st)
        st = rule_dtype(inputs, LABELS, DTYPE_I64, err);
    if (!st && inputs[LABELS]->shape.dims[0] != y.dims[0])
        st = error_set(err, ASSAY_BAD_INPUT, "%lld labels for %lld masks",
                       (long long)inputs[LABELS]->shape.dims[0],
                       (long long)y.dims[0]);
    if (st)
        return st;
    y.dims[1] = 1;
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status mask_select_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const int64_t *dims = inputs[LOGITS]->shape.dims;
    const int64_t *labels = tensor_i64(inputs[LABELS]);
    int64_t plane = dims[2] * dims[3];

    (void)node;
    for (int64_t i = 0; i < dims[0]; i++) {
        if (labels[i] < 0 || labels[i] >= dims[1])
            return error_set(err, ASSAY_BAD_INPUT,
                             "label %lld, where masks are of %lld classes",
                             (long long)labels[i], (long long)dims[1]);
    }
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < dims[0]; i++) {
        const float *from =
            tensor_f32(inputs[LOGITS]) + (i * dims[1] + labels[i]) * plane;
        float *to = tensor_f32(&outputs[0]) + i * plane;

        for (int64_t k = 0; k < plane; k++)
            to[k] = 1 / (1 + expf(-from[k]));
    }
    return ASSAY_OK;
}

/* One class of each. */
static void mask_select_count_cost(const struct node *node,
                                   const struct tensor *const *inputs,
                                   const struct tensor *outputs,
                                   struct cost *cost)
{
    (void)node;
    cost_touches(cost, inputs[0], tensor_bytes(&outputs[0]));
}

const struct op_class op_mask_select = {
    .name = "MaskSelect",
    .min_inputs = INPUTS,
    .max_inputs = INPUTS,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = mask_select_infer,
    .forward = mask_select_forward,
    .cost = mask_select_count_cost,
};
