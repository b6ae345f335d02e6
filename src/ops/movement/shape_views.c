/* ops/movement/shape_views.c - see shape_views.h. */
#include "ops/movement/shape_views.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

static enum assay_status view_as(const struct tensor *x,
                                 const struct shape *shape, struct tensor *y,
                                 struct error *err)
{
    char from[64], to[64];
    size_t n, have;

    if (!shape_elements(shape, &n) || !shape_elements(&x->shape, &have) ||
        n != have)
        return error_set(err, ASSAY_BAD_INPUT, "%s cannot be viewed as %s",
                         shape_text(&x->shape, from, sizeof from),
                         shape_text(shape, to, sizeof to));
    rule_set(y, x->dtype, shape);
    return ASSAY_OK;
}

/* Gives the first dimension of -1 the elements that remain. */
static void fill_rest(const struct shape *x, struct shape *shape)
{
    int64_t have = shape_span(x, 0, x->rank), known = 1;
    int unknown = -1;

    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == -1 && unknown < 0)
            unknown = i;
        else
            known *= shape->dims[i];
    }
    if (unknown >= 0)
        shape->dims[unknown] = known ? have / known : 0;
}

static enum assay_status reshape_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct shape_view_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    struct shape shape;
    enum assay_status st = shape_read(inputs[1], &shape, err);

    if (st)
        return st;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] == 0 && !attrs->allows_zero && i < x->rank)
            shape.dims[i] = x->dims[i];
    }
    fill_rest(x, &shape);
    return view_as(inputs[0], &shape, &outputs[0], err);
}

/* [a, b, ...] as a matrix, whose second dimension begins at an axis. */
static enum assay_status flatten_from(const struct tensor *x, int axis,
                                      struct tensor *y, struct error *err)
{
    struct shape shape = shape_of(2, shape_span(&x->shape, 0, axis),
                                  shape_span(&x->shape, axis, x->shape.rank));

    return view_as(x, &shape, y, err);
}

static enum assay_status flatten_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    (void)node;
    if (inputs[0]->shape.rank < 1)
        return rule_rank(inputs, 0, 2, err);
    return flatten_from(inputs[0], 1, &outputs[0], err);
}

static enum assay_status flatten_at_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct shape_view_attrs *attrs = node->attrs;
    int rank = inputs[0]->shape.rank;
    int64_t axis = attrs->axis < 0 ? attrs->axis + rank : attrs->axis;

    if (axis < 0 || axis > rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "axis %lld does not exist in %d dimensions",
                         (long long)attrs->axis, rank);
    return flatten_from(inputs[0], (int)axis, &outputs[0], err);
}

static enum assay_status squeeze_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    const struct tensor *listed = op_input(node, inputs, 1);
    struct shape shape = {0};
    struct int_list list;
    unsigned axes;
    enum assay_status st = int_list_read(listed, &list, err);

    if (!st)
        st = axes_resolve(&list, x->rank, &axes, err);
    if (st)
        return st;
    for (int i = 0; i < x->rank; i++) {
        if (listed ? !(axes >> i & 1) : x->dims[i] != 1)
            shape.dims[shape.rank++] = x->dims[i];
    }
    return view_as(inputs[0], &shape, &outputs[0], err);
}

static enum assay_status unsqueeze_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    struct shape shape = {0};
    struct int_list list;
    unsigned axes;
    int from = 0;
    enum assay_status st = int_list_read(inputs[1], &list, err);

    (void)node;
    if (!st)
        st = rank_check(list.n + (size_t)x->rank, err);
    if (!st)
        st = axes_resolve(&list, x->rank + (int)list.n, &axes, err);
    if (st)
        return st;
    shape.rank = x->rank + (int)list.n;
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = axes >> i & 1 ? 1 : x->dims[from++];
    return view_as(inputs[0], &shape, &outputs[0], err);
}

static enum assay_status shape_views_forward(const struct op_context *context,
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
    const struct shape_view_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", to->node->op == &op_flatten ? 1 : attrs->axis);
    onnx_put_node(to, "Flatten", 1);
}

static void reshape_to_onnx(struct onnx_sink *to)
{
    const struct shape_view_attrs *attrs = to->node->attrs;

    if (attrs->allows_zero) {
        onnx_needs_opset(to, 14);
        onnx_attr_int(to, "allowzero", 1);
    }
    onnx_put_node(to, "Reshape", ONNX_ALL_INPUTS);
}

ATTR_FIELDS(shape_view, FIELD_FLAG(shape_view_attrs, allows_zero),
            FIELD_AXIS(shape_view_attrs, axis));

#define CLASS(symbol, text, least, most, inferred, ruled, written)             \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(shape_view),                                                  \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(1, 1),                                                        \
        .infer = inferred,                                                     \
        .host_inputs = OP_INPUT(1),                                            \
        .forward = shape_views_forward,                                        \
        .is_view = true,                                                       \
        .channels = ruled,                                                     \
        .to_onnx = written,                                                    \
    };
CLASS(identity, "Identity", 1, 1, rule_same, channel_pass, onnx_put_named)
CLASS(reshape, "Reshape", 2, 2, reshape_infer, channel_reshape, reshape_to_onnx)
CLASS(flatten_at, "FlattenAt", 1, 1, flatten_at_infer, channel_reshape,
      flatten_to_onnx)
CLASS(squeeze, "Squeeze", 1, 2, squeeze_infer, channel_reshape, onnx_put_named)
CLASS(unsqueeze, "Unsqueeze", 2, 2, unsqueeze_infer, channel_reshape,
      onnx_put_named)

const struct op_class op_flatten = {
    .name = "Flatten",
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .infer = flatten_infer,
    .forward = shape_views_forward,
    .is_view = true,
    .channels = channel_reshape,
    .to_onnx = flatten_to_onnx,
};
