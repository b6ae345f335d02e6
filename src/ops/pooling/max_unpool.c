/* ops/pooling/max_unpool.c - a max pooling undone: values back to where they
 * stood, see pool_nd.h. */
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/pooling/pool_nd.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <string.h>

enum unpool_input { UNPOOL_X, UNPOOL_INDICES, UNPOOL_SHAPE };

static enum assay_status unpooled(const struct node *node,
                                  const struct shape *x, struct shape *y,
                                  struct error *err)
{
    const struct pool_nd_attrs *attrs = node->attrs;
    const struct window *window = &attrs->window;
    char text[64];

    *y = *x;
    if (x->rank != window->rank + 2)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a window of %d dimensions does not fit %s",
                         window->rank, shape_text(x, text, sizeof text));
    for (int i = 0; i < window->rank; i++)
        y->dims[2 + i] = (x->dims[2 + i] - 1) * window->stride[i] +
                         window->kernel[i] - window->before[i] -
                         window->after[i];
    return ASSAY_OK;
}

static enum assay_status max_unpool_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    bool has_shape = node->n_inputs > UNPOOL_SHAPE && inputs[UNPOOL_SHAPE];
    struct int_list list;
    struct shape y;
    enum assay_status st = indices_check(inputs, UNPOOL_INDICES, err);

    if (!st)
        st = unpooled(node, &inputs[UNPOOL_X]->shape, &y, err);
    if (!st)
        st = int_list_read(has_shape ? inputs[UNPOOL_SHAPE] : NULL, &list, err);
    if (!st && has_shape && list.n != (size_t)y.rank)
        st = error_set(err, ASSAY_BAD_INPUT, "a shape of %zu for %d dimensions",
                       list.n, y.rank);
    if (st)
        return st;
    for (size_t i = 0; i < list.n; i++)
        y.dims[i] = list.of[i];
    rule_set(&outputs[0], inputs[UNPOOL_X]->dtype, &y);
    return ASSAY_OK;
}

/* Indices count in the shape that the window says, which may be a corner of
 * the one that is asked for. */
static int64_t move_index(const struct shape *from, const struct shape *to,
                          int64_t index)
{
    int64_t moved = 0, step = 1;

    for (int i = from->rank - 1; i >= 0; i--) {
        moved += index % from->dims[i] * step;
        index /= from->dims[i];
        step *= to->dims[i];
    }
    return moved;
}

static enum assay_status max_unpool_kernel(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct tensor *x = inputs[UNPOOL_X];
    const int64_t *indices = tensor_data(inputs[UNPOOL_INDICES]);
    size_t n = tensor_elements(x), bytes = dtype_bytes(x->dtype);
    const char *from = tensor_data(x);
    char *to = tensor_data(&outputs[0]);
    struct shape counted;
    enum assay_status st = unpooled(node, &x->shape, &counted, err);

    (void)context;
    if (!st && tensor_elements(inputs[UNPOOL_INDICES]) != n)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu indices for %zu values",
                       tensor_elements(inputs[UNPOOL_INDICES]), n);
    for (int i = 0; !st && i < counted.rank; i++) {
        if (counted.dims[i] < 1)
            st = error_set(err, ASSAY_BAD_INPUT, "the window leaves nothing");
    }
    if (st)
        return st;
    memset(to, 0, tensor_bytes(&outputs[0]));
    for (size_t i = 0; i < n; i++) {
        int64_t at = indices[i] < 0
                         ? -1
                         : move_index(&counted, &outputs[0].shape, indices[i]);

        if (at < 0 || at >= (int64_t)tensor_elements(&outputs[0]))
            return error_set(err, ASSAY_BAD_INPUT,
                             "index %lld lies outside of the result",
                             (long long)indices[i]);
        memcpy(to + (size_t)at * bytes, from + i * bytes, bytes);
    }
    return ASSAY_OK;
}

WIDEN_FORWARD(max_unpool_forward, max_unpool_kernel)

const struct op_class op_max_unpool = {
    .name = "MaxUnpool",
    .attrs_bytes = sizeof(struct pool_nd_attrs),
    .fields = pool_nd_fields,
    .min_inputs = 2,
    .max_inputs = 3,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = max_unpool_infer,
    .forward = max_unpool_forward,
};
