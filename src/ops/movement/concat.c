/* ops/movement/concat.c - see concat.h. */
#include "ops/movement/concat.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/rows_internal.h"
#include "ops/shape_rules.h"

#include <string.h>

int concat_axis(const struct node *node, int rank)
{
    const struct concat_attrs *attrs = node->attrs;

    return attrs->axis < 0 ? attrs->axis + rank : attrs->axis;
}

/* Whether type and all dimensions but the axis are equal. */
static bool concat_fits(const struct tensor *a, const struct tensor *b,
                        int axis)
{
    struct shape shape = b->shape;

    if (a->shape.rank != shape.rank || a->dtype != b->dtype)
        return false;
    shape.dims[axis] = a->shape.dims[axis];
    return shape_equal(&shape, &a->shape);
}

static enum assay_status concat_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct concat_attrs *attrs = node->attrs;
    struct shape y = inputs[0]->shape;
    int axis = concat_axis(node, y.rank);
    char a[64], b[64];

    if (axis < 0 || axis >= y.rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "axis %d does not exist in %s, which has rank %d",
                         attrs->axis, shape_text(&y, a, sizeof a), y.rank);
    for (size_t i = 1; i < node->n_inputs; i++) {
        if (!concat_fits(inputs[0], inputs[i], axis))
            return error_set(err, ASSAY_BAD_INPUT,
                             "%s %s and %s %s cannot be joined along axis %d",
                             dtype_name(inputs[0]->dtype),
                             shape_text(&inputs[0]->shape, a, sizeof a),
                             dtype_name(inputs[i]->dtype),
                             shape_text(&inputs[i]->shape, b, sizeof b), axis);
        y.dims[axis] += inputs[i]->shape.dims[axis];
    }
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

/* Bytes that are contiguous: from the axis to the last dimension. */
static size_t run_bytes(const struct tensor *tensor, int axis)
{
    return (size_t)shape_span(&tensor->shape, axis, tensor->shape.rank) *
           dtype_bytes(tensor->dtype);
}

static enum assay_status concat_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    int axis = concat_axis(node, outputs[0].shape.rank);
    size_t stride = run_bytes(&outputs[0], axis);
    size_t n = stride ? tensor_bytes(&outputs[0]) / stride : 0;
    char *to = tensor_data(&outputs[0]);

    (void)context, (void)err;
    for (size_t i = 0; i < node->n_inputs; i++) {
        size_t bytes = run_bytes(inputs[i], axis);
        const char *from = tensor_data(inputs[i]);

        if (bytes)
            rows_copy(to, stride, from, bytes, bytes, n);
        to += bytes;
    }
    return ASSAY_OK;
}

static enum assay_status concat_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    const struct tensor *dy = pass->dy[0];
    int axis = concat_axis(node, dy->shape.rank);
    size_t stride = run_bytes(dy, axis);
    size_t n = stride ? tensor_bytes(dy) / stride : 0;
    const char *from = tensor_data(dy);
    int parts = gradient_parts(context, tensor_elements(dy));

    (void)err;
    for (size_t i = 0; i < node->n_inputs; i++) {
        size_t bytes = run_bytes(pass->inputs[i], axis);

        if (op_wants(pass, i) && bytes) {
            char *to = tensor_data(&pass->dx[i]);

#pragma omp parallel for num_threads(parts) if (parts > 1)
            for (size_t k = 0; k < n; k++)
                memcpy(to + k * bytes, from + k * stride, bytes);
        }
        from += bytes;
    }
    return ASSAY_OK;
}

static struct labels concat_labels(struct channels *channels,
                                   const struct node *node, int axis, size_t n)
{
    uint32_t *atoms = channels_room(channels, n);
    bool has_any = false;
    size_t at = 0;

    for (size_t i = 0; atoms && i < node->n_inputs; i++) {
        const struct shape *x = channels_shape(channels, node->inputs[i]);
        struct labels labels;

        if (!channels_of(channels, node->inputs[i], axis).n)
            channels_match(channels, node->inputs[i], axis, (struct labels){0});
        labels = channels_of(channels, node->inputs[i], axis);
        for (size_t k = 0; k < labels.n && at + k < n; k++)
            atoms[at + k] = labels.atoms[k];
        has_any |= labels.n > 0;
        at += (size_t)x->dims[axis];
    }
    return has_any ? (struct labels){n, atoms} : (struct labels){0};
}

/* Joins a dimension that all inputs have in common. */
static void concat_join_across(struct channels *channels,
                               const struct node *node, int d)
{
    struct labels joined = {0};

    for (size_t i = 0; i < node->n_inputs && !joined.n; i++)
        joined = channels_of(channels, node->inputs[i], d);
    for (size_t i = 0; joined.n && i < node->n_inputs; i++)
        channels_match(channels, node->inputs[i], d, joined);
    channels_set(channels, node->outputs[0], d, joined);
}

static void concat_channels(struct channels *channels, const struct node *node)
{
    const struct shape *y = channels_all_shapes(channels, node);
    int axis;

    if (!y)
        return;
    axis = concat_axis(node, y->rank);
    for (int d = 0; d < y->rank; d++) {
        if (d != axis)
            concat_join_across(channels, node, d);
    }
    channels_set(channels, node->outputs[0], axis,
                 concat_labels(channels, node, axis, (size_t)y->dims[axis]));
}

static void concat_to_onnx(struct onnx_sink *to)
{
    const struct concat_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, "Concat", ONNX_ALL_INPUTS);
}

ATTR_FIELDS(concat,
            FIELD_SMALL(concat_attrs, axis, -SHAPE_MAX_RANK, SHAPE_MAX_RANK));

const struct op_class op_concat = {
    .name = "Concat",
    OP_ATTRS(concat),
    OP_TAKES(1, SIZE_MAX),
    OP_MAKES(1, 1),
    .infer = concat_infer,
    .forward = concat_forward,
    .backward = concat_backward,
    .channels = concat_channels,
    .to_onnx = concat_to_onnx,
    .counted = COUNTED_CONCAT,
};
