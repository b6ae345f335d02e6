/* ops/movement/transpose.c - see transpose.h. */
#include "ops/movement/transpose.h"

#include "ops/int_list.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided.h"

static enum assay_status get_order(const struct transpose_attrs *attrs,
                                   const struct shape *x, int *order,
                                   struct error *err)
{
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

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    struct shape y = {.rank = x->rank};
    int order[SHAPE_MAX_RANK];
    enum assay_status st = get_order(node->attrs, x, order, err);

    if (st)
        return st;
    for (int i = 0; i < x->rank; i++)
        y.dims[i] = x->dims[order[i]];
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0], *y = &outputs[0];
    struct strides from = strides_dense(&x->shape), moved = {{0}};
    struct strides to = strides_dense(&y->shape);
    int order[SHAPE_MAX_RANK];
    enum assay_status st = get_order(node->attrs, &x->shape, order, err);

    if (st)
        return st;
    for (int i = 0; i < x->shape.rank; i++)
        moved.of[i] = from.of[order[i]];
    strided_copy(context, &y->shape, dtype_bytes(x->dtype), tensor_data(x),
                 &moved, tensor_data(y), &to);
    return ASSAY_OK;
}

/* The other way round. */
static enum assay_status backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    const struct tensor *dx = &pass->dx[0], *dy = pass->dy[0];
    struct strides to = strides_dense(&dx->shape);
    struct strides from = strides_dense(&dy->shape), moved = {{0}};
    int order[SHAPE_MAX_RANK];
    enum assay_status st = get_order(node->attrs, &dx->shape, order, err);

    if (st)
        return st;
    for (int i = 0; i < dx->shape.rank; i++)
        moved.of[order[i]] = from.of[i];
    strided_copy(context, &dx->shape, sizeof(float), tensor_data(dy), &moved,
                 tensor_data(dx), &to);
    return ASSAY_OK;
}

const struct op_class op_transpose = {
    .name = "Transpose",
    .attrs_bytes = sizeof(struct transpose_attrs),
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
    .backward = backward,
};
