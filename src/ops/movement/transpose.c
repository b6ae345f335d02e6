/* ops/movement/transpose.c - see transpose.h. */
#include "ops/movement/transpose.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

enum assay_status transpose_order(const struct node *node,
                                  const struct shape *x, int *order,
                                  struct error *err)
{
    const struct transpose_attrs *attrs = node->attrs;
    struct int_list list = {.n = (size_t)x->rank};
    char text[64];
    unsigned axes;
    enum assay_status st = ASSAY_OK;

    if (attrs->rank && attrs->rank != x->rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "an order of %d dimensions does not fit %s",
                         attrs->rank, shape_text(x, text, sizeof text));
    for (int i = 0; i < x->rank; i++)
        list.of[i] = attrs->rank ? attrs->order[i] : x->rank - 1 - i;
    st = axes_resolve(&list, x->rank, &axes, err);
    for (int i = 0; !st && i < x->rank; i++)
        st = axis_resolve(list.of[i], x->rank, &order[i], err);
    return st;
}

static enum assay_status transpose_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    struct shape y = {.rank = x->rank};
    int order[SHAPE_MAX_RANK];
    enum assay_status st = transpose_order(node, x, order, err);

    if (st)
        return st;
    for (int i = 0; i < x->rank; i++)
        y.dims[i] = x->dims[order[i]];
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

static enum assay_status transpose_forward(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct tensor *x = inputs[0];
    struct strides dense = strides_dense(&x->shape), moved = {{0}};
    int order[SHAPE_MAX_RANK];
    enum assay_status st = transpose_order(node, &x->shape, order, err);

    if (st)
        return st;
    for (int i = 0; i < x->shape.rank; i++)
        moved.of[i] = dense.of[order[i]];
    strided_take(context, x, 0, &moved, &outputs[0]);
    return ASSAY_OK;
}

static enum assay_status transpose_backward(const struct op_context *context,
                                            const struct node *node,
                                            const struct op_backward *pass,
                                            struct error *err)
{
    const struct tensor *dx = &pass->dx[0], *dy = pass->dy[0];
    struct strides dense = strides_dense(&dy->shape), moved = {{0}};
    int order[SHAPE_MAX_RANK];
    enum assay_status st = transpose_order(node, &dx->shape, order, err);

    if (st)
        return st;
    for (int i = 0; i < dx->shape.rank; i++)
        moved.of[order[i]] = dense.of[i];
    strided_take(context, dy, 0, &moved, dx);
    return ASSAY_OK;
}

static void transpose_channels(struct channels *channels,
                               const struct node *node)
{
    const struct transpose_attrs *attrs = node->attrs;
    const struct shape *x, *y;

    if (!channels_shapes(channels, node, &x, &y))
        return;
    for (int i = 0; i < y->rank; i++) {
        int from = attrs->rank ? (int)attrs->order[i] : x->rank - 1 - i;

        channels_set(channels, node->outputs[0], i,
                     channels_of(channels, node->inputs[0], from));
    }
}

static void transpose_to_onnx(struct onnx_sink *to)
{
    const struct transpose_attrs *attrs = to->node->attrs;

    if (attrs->rank)
        onnx_attr_ints(to, "perm", attrs->order, (size_t)attrs->rank);
    onnx_put_node(to, "Transpose", 1);
}

ATTR_FIELDS(transpose, FIELD_SMALL(transpose_attrs, rank, 0, SHAPE_MAX_RANK),
            FIELD_NUMBER(transpose_attrs, order, 0, SHAPE_MAX_RANK - 1));

const struct op_class op_transpose = {
    .name = "Transpose",
    OP_ATTRS(transpose),
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .infer = transpose_infer,
    .forward = transpose_forward,
    .backward = transpose_backward,
    .channels = transpose_channels,
    .to_onnx = transpose_to_onnx,
};
