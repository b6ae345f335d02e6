/* ops/norm/group_norm.c - see group_norm.h. */
#include "ops/norm/group_norm.h"

#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

#include <math.h>

/* ---- GroupNorm ----------------------------------------------------------- */

static enum assay_status group_norm_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct group_norm_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;

    rule_set(&outputs[0], DTYPE_F32, x);
    if (x->rank < 2)
        return rule_rank(inputs, 0, 4, err);
    if (attrs->groups < 1 || x->dims[1] % attrs->groups)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%lld channels cannot be divided into %lld groups",
                         (long long)x->dims[1], (long long)attrs->groups);
    return rule_per_channel(inputs, 3, x->dims[1], err);
}

static enum assay_status group_norm_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct group_norm_attrs *attrs = node->attrs;
    const struct shape *shape = &inputs[0]->shape;
    int64_t channels = shape->dims[1], each = channels / attrs->groups;
    int64_t plane = shape_span(shape, 2, shape->rank), n = each * plane;
    const float *scale = tensor_f32(inputs[1]), *bias = tensor_f32(inputs[2]);

    (void)err;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t g = 0; g < shape->dims[0] * attrs->groups; g++) {
        const float *x = tensor_f32(inputs[0]) + g * n;
        float *y = tensor_f32(&outputs[0]) + g * n;
        double sum = 0, squares = 0, mean, factor;

        for (int64_t i = 0; i < n; i++)
            sum += (double)x[i];
        mean = n ? sum / (double)n : 0;
        for (int64_t i = 0; i < n; i++)
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
        factor = 1 / sqrt((n ? squares / (double)n : 0) + (double)attrs->eps);
        for (int64_t i = 0; i < n; i++) {
            int64_t c = g % attrs->groups * each + i / plane;

            y[i] = (float)(((double)x[i] - mean) * factor) * scale[c] + bias[c];
        }
    }
    return ASSAY_OK;
}

ATTR_FIELDS(group_norm, FIELD_SIZE(group_norm_attrs, groups),
            FIELD_FLOAT(group_norm_attrs, eps));

const struct op_class op_group_norm = {
    .name = "GroupNorm",
    OP_ATTRS(group_norm),
    OP_TAKES(3, 3),
    OP_MAKES(1, 1),
    .infer = group_norm_infer,
    .forward = group_norm_forward,
    .cost = rule_cost_elementwise,
    .is_f32 = true,
    .counted = COUNTED_NORM,
};

/* ---- RMSNorm ------------------------------------------------------------- */

static enum assay_status rms_norm_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct rms_norm_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    struct shape both;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    rule_set(&outputs[0], DTYPE_F32, x);
    if (!st)
        st = strided_broadcast(inputs, 2, &both, err);
    if (!st && !shape_equal(&both, x))
        st = rule_misfit("scale", &inputs[1]->shape, "x", x, err);
    return st;
}

static enum assay_status rms_norm_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct rms_norm_attrs *attrs = node->attrs;
    const struct shape *shape = &inputs[0]->shape;
    struct strides strides[] = {strides_dense(shape),
                                strides_repeat(&inputs[1]->shape, shape)};
    float *y = tensor_f32(&outputs[0]);
    struct walk walk = walk_start(shape, strides, 2);
    int64_t n, lines;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, shape->rank, &axis, err);

    if (st)
        return st;
    n = shape_span(shape, axis, shape->rank);
    lines = shape_span(shape, 0, axis);
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t line = 0; line < lines; line++) {
        const float *x = tensor_f32(inputs[0]) + line * n;
        double squares = 0;
        float root;

        for (int64_t i = 0; i < n; i++)
            squares += (double)x[i] * (double)x[i];
        root = (float)sqrt((n ? squares / (double)n : 0) + (double)attrs->eps);
        for (int64_t i = 0; i < n; i++)
            y[line * n + i] = x[i] / root;
    }
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        for (int64_t i = 0; i < walk.length; i++)
            y[walk.at[0] + i * walk.steps[0]] *=
                tensor_f32(inputs[1])[walk.at[1] + i * walk.steps[1]];
    }
    return ASSAY_OK;
}

ATTR_FIELDS(rms_norm, FIELD_AXIS(rms_norm_attrs, axis),
            FIELD_FLOAT(rms_norm_attrs, eps));

const struct op_class op_rms_norm = {
    .name = "RMSNorm",
    OP_ATTRS(rms_norm),
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = rms_norm_infer,
    .forward = rms_norm_forward,
    .cost = rule_cost_elementwise,
    .is_f32 = true,
    .counted = COUNTED_NORM,
};
