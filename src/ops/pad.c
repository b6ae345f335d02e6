/* ops/pad.c - see pad.h. */
#include "ops/pad.h"

#include "base/mem.h"
#include "ops/int_list.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided.h"

#include <string.h>

enum pad_input { PAD_X, PAD_PADS, PAD_VALUE, PAD_AXES };

struct pads {
    int64_t before[SHAPE_MAX_RANK], after[SHAPE_MAX_RANK];
};

static const struct tensor *input(const struct node *node,
                                  const struct tensor *const *inputs, size_t i)
{
    return i < node->n_inputs ? inputs[i] : NULL;
}

static enum assay_status get_pads(const struct node *node,
                                  const struct tensor *const *inputs,
                                  struct pads *pads, struct error *err)
{
    int rank = inputs[PAD_X]->shape.rank;
    struct int_list list, axes;
    enum assay_status st = int_list_read(inputs[PAD_PADS], &list, err);

    *pads = (struct pads){0};
    if (!st)
        st = int_list_read(input(node, inputs, PAD_AXES), &axes, err);
    if (st)
        return st;
    if (!input(node, inputs, PAD_AXES)) {
        axes.n = (size_t)rank;
        for (int i = 0; i < rank; i++)
            axes.of[i] = i;
    }
    if (list.n != 2 * axes.n)
        return error_set(err, ASSAY_BAD_INPUT, "%zu pads for %zu axes", list.n,
                         axes.n);
    for (size_t i = 0; !st && i < axes.n; i++) {
        int axis;

        st = axis_resolve(axes.of[i], rank, &axis, err);
        pads->before[axis] = list.of[i];
        pads->after[axis] = list.of[axes.n + i];
    }
    return st;
}

static enum assay_status infer(const struct node *node,
                               const struct tensor *const *inputs,
                               struct tensor *outputs, struct error *err)
{
    struct shape shape = inputs[PAD_X]->shape;
    struct pads pads;
    enum assay_status st = get_pads(node, inputs, &pads, err);

    for (int i = 0; !st && i < shape.rank; i++) {
        shape.dims[i] += pads.before[i] + pads.after[i];
        if (shape.dims[i] < 0)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "pads of %lld and %lld leave nothing of %lld",
                           (long long)pads.before[i], (long long)pads.after[i],
                           (long long)inputs[PAD_X]->shape.dims[i]);
    }
    if (!st)
        rule_set(&outputs[0], inputs[PAD_X]->dtype, &shape);
    return st;
}

static void fill(const struct tensor *y, const struct tensor *value)
{
    size_t bytes = dtype_bytes(y->dtype), n = tensor_elements(y);
    static const char zeros[8];
    const char *with = value ? tensor_data(value) : zeros;
    char *data = tensor_data(y);

    if (memcmp(with, zeros, bytes) == 0) {
        memset(data, 0, n * bytes);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(data + i * bytes, with, bytes);
}

/* The part of x that is not cut off, into y. */
static void copy_inside(const struct op_context *context,
                        const struct tensor *x, const struct tensor *y,
                        const struct pads *pads)
{
    struct strides from = strides_dense(&x->shape);
    struct strides to = strides_dense(&y->shape);
    struct shape inside = x->shape;
    int64_t read = 0, write = 0;
    int64_t bytes = (int64_t)dtype_bytes(x->dtype);

    for (int i = 0; i < x->shape.rank; i++) {
        int64_t before = pads->before[i], after = pads->after[i];

        inside.dims[i] += (before < 0 ? before : 0) + (after < 0 ? after : 0);
        if (inside.dims[i] <= 0)
            return;
        read += (before < 0 ? -before : 0) * from.of[i];
        write += (before > 0 ? before : 0) * to.of[i];
    }
    strided_copy(context, &inside, (size_t)bytes,
                 (char *)tensor_data(x) + read * bytes, &from,
                 (char *)tensor_data(y) + write * bytes, &to);
}

/* Which of `size` elements stands at a position that may lie outside. */
static int64_t source(enum pad_mode mode, int64_t at, int64_t size)
{
    int64_t period = 2 * (size - 1);

    if (mode == PAD_EDGE)
        return at < 0 ? 0 : at >= size ? size - 1 : at;
    if (mode == PAD_WRAP)
        return (at % size + size) % size;
    if (size == 1)
        return 0;
    at = (at % period + period) % period;
    return at < size ? at : period - at;
}

/* Copies element by element through a table of positions for each axis. */
static enum assay_status copy_mapped(const struct tensor *x,
                                     const struct tensor *y,
                                     const struct pads *pads,
                                     enum pad_mode mode, struct error *err)
{
    struct strides from = strides_dense(&x->shape);
    int last = y->shape.rank - 1;
    size_t bytes = dtype_bytes(x->dtype);
    int64_t width = y->shape.dims[last];
    int64_t *columns = mem_array((size_t)width, sizeof *columns);
    char *write = tensor_data(y);

    if (!columns)
        return error_nomem(err, (size_t)width * sizeof *columns, "a pad");
    for (int64_t i = 0; i < width; i++)
        columns[i] = source(mode, i - pads->before[last], x->shape.dims[last]);
    for (int64_t row = 0; row < shape_span(&y->shape, 0, last); row++) {
        const char *read = tensor_data(x);
        int64_t rest = row;

        for (int i = last - 1; i >= 0; i--) {
            int64_t at = rest % y->shape.dims[i];

            rest /= y->shape.dims[i];
            read += source(mode, at - pads->before[i], x->shape.dims[i]) *
                    from.of[i] * (int64_t)bytes;
        }
        for (int64_t i = 0; i < width; i++, write += bytes)
            memcpy(write, read + columns[i] * (int64_t)bytes, bytes);
    }
    mem_free(columns);
    return ASSAY_OK;
}

static enum assay_status forward(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const struct pad_attrs *attrs = node->attrs;
    const struct tensor *value = input(node, inputs, PAD_VALUE);
    struct pads pads;
    enum assay_status st = get_pads(node, inputs, &pads, err);

    if (!st && value &&
        (value->dtype != inputs[PAD_X]->dtype || !tensor_elements(value)))
        st = error_set(err, ASSAY_BAD_INPUT, "a %s cannot pad %s",
                       dtype_name(value->dtype),
                       dtype_name(inputs[PAD_X]->dtype));
    if (st || !tensor_elements(&outputs[0]))
        return st;
    if (attrs->mode != PAD_CONSTANT && inputs[PAD_X]->shape.rank > 0 &&
        tensor_elements(inputs[PAD_X]))
        return copy_mapped(inputs[PAD_X], &outputs[0], &pads, attrs->mode, err);
    fill(&outputs[0], value);
    copy_inside(context, inputs[PAD_X], &outputs[0], &pads);
    return ASSAY_OK;
}

const struct op_class op_pad = {
    .name = "Pad",
    .attrs_bytes = sizeof(struct pad_attrs),
    .min_inputs = 2,
    .max_inputs = 4,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer,
    .forward = forward,
};
