/* ops/movement/pad.c - see pad.h. */
#include "ops/movement/pad.h"

#include "base/mem.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

#include <string.h>

enum pad_input { PAD_X, PAD_PADS, PAD_VALUE, PAD_AXES };

struct pads {
    int64_t before[SHAPE_MAX_RANK], after[SHAPE_MAX_RANK];
};

/* The limit exceeds any memory, but can be added to sizes. */
static bool pad_is_absurd(int64_t pad)
{
    const int64_t most = INT64_C(1) << 48;

    return pad < -most || pad > most;
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
        st = int_list_read(op_input(node, inputs, PAD_AXES), &axes, err);
    if (st)
        return st;
    if (!op_input(node, inputs, PAD_AXES)) {
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
        if (!st && (pad_is_absurd(pads->before[axis]) ||
                    pad_is_absurd(pads->after[axis])))
            st = error_set(
                err, ASSAY_BAD_INPUT, "pads of %lld and %lld are too large",
                (long long)list.of[i], (long long)list.of[axes.n + i]);
    }
    return st;
}

static enum assay_status pad_infer(const struct node *node,
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

/* The part of x that is not cropped, and where it begins in x and y. */
struct inside {
    struct shape shape;
    struct strides in_x, in_y;
    int64_t from_x, from_y;
};

/* False if nothing is left. */
static bool pad_find_inside(const struct shape *x, const struct shape *y,
                            const struct pads *pads, struct inside *inside)
{
    *inside = (struct inside){
        .shape = *x, .in_x = strides_dense(x), .in_y = strides_dense(y)};
    for (int i = 0; i < x->rank; i++) {
        int64_t before = pads->before[i], after = pads->after[i];

        inside->shape.dims[i] +=
            (before < 0 ? before : 0) + (after < 0 ? after : 0);
        if (inside->shape.dims[i] <= 0)
            return false;
        inside->from_x += (before < 0 ? -before : 0) * inside->in_x.of[i];
        inside->from_y += (before > 0 ? before : 0) * inside->in_y.of[i];
    }
    return true;
}

static void pad_copy_inside(const struct op_context *context,
                            const struct tensor *x, const struct tensor *y,
                            const struct pads *pads)
{
    int64_t bytes = (int64_t)dtype_bytes(x->dtype);
    struct inside inside;

    if (pad_find_inside(&x->shape, &y->shape, pads, &inside))
        strided_copy(
            context, &inside.shape, (size_t)bytes,
            (char *)tensor_data(x) + inside.from_x * bytes, &inside.in_x,
            (char *)tensor_data(y) + inside.from_y * bytes, &inside.in_y);
}

/* Which of `size` elements a position that may lie outside repeats. */
static int64_t pad_source(enum pad_mode mode, int64_t at, int64_t size)
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

/* Copies element by element, through a table of columns. */
static enum assay_status pad_copy_mapped(const struct tensor *x,
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
        columns[i] =
            pad_source(mode, i - pads->before[last], x->shape.dims[last]);
    for (int64_t row = 0; row < shape_span(&y->shape, 0, last); row++) {
        const char *read = tensor_data(x);
        int64_t rest = row;

        for (int i = last - 1; i >= 0; i--) {
            int64_t at = rest % y->shape.dims[i];

            rest /= y->shape.dims[i];
            read += pad_source(mode, at - pads->before[i], x->shape.dims[i]) *
                    from.of[i] * (int64_t)bytes;
        }
        for (int64_t i = 0; i < width; i++, write += bytes)
            memcpy(write, read + columns[i] * (int64_t)bytes, bytes);
    }
    mem_free(columns);
    return ASSAY_OK;
}

static enum assay_status pad_forward(const struct op_context *context,
                                     const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct pad_attrs *attrs = node->attrs;
    static const char zeros[8];
    const struct tensor *value = op_input(node, inputs, PAD_VALUE);
    struct pads pads;
    enum assay_status st = get_pads(node, inputs, &pads, err);

    if (!st && value &&
        (value->dtype != inputs[PAD_X]->dtype || !tensor_elements(value)))
        st = error_set(err, ASSAY_BAD_INPUT, "cannot pad %s with %s",
                       dtype_name(inputs[PAD_X]->dtype),
                       dtype_name(value->dtype));
    if (st || !tensor_elements(&outputs[0]))
        return st;
    if (attrs->mode != PAD_CONSTANT && inputs[PAD_X]->shape.rank > 0 &&
        tensor_elements(inputs[PAD_X]))
        return pad_copy_mapped(inputs[PAD_X], &outputs[0], &pads, attrs->mode,
                               err);
    strided_fill(&outputs[0], value ? tensor_data(value) : zeros);
    pad_copy_inside(context, inputs[PAD_X], &outputs[0], &pads);
    return ASSAY_OK;
}

/* Adds each dy to the element of dx that y repeats there. */
static void pad_add_mapped(const struct tensor *dy, const struct tensor *dx,
                           const struct pads *pads, enum pad_mode mode)
{
    struct strides to = strides_dense(&dx->shape);
    const struct shape *y = &dy->shape;

    for (size_t k = 0; k < tensor_elements(dy); k++) {
        int64_t rest = (int64_t)k, at = 0;

        for (int i = y->rank - 1; i >= 0; i--) {
            at += pad_source(mode, rest % y->dims[i] - pads->before[i],
                             dx->shape.dims[i]) *
                  to.of[i];
            rest /= y->dims[i];
        }
        tensor_f32(dx)[at] += tensor_f32(dy)[k];
    }
}

/* The value's gradient: the sum of dy wherever y does not come from x. */
static void pad_sum_outside(const struct tensor *dy, const struct shape *x,
                            const struct pads *pads,
                            const struct tensor *dvalue)
{
    struct inside inside;
    struct walk walk = {0};
    double sum = 0;

    for (size_t i = 0; i < tensor_elements(dy); i++)
        sum += (double)tensor_f32(dy)[i];
    if (pad_find_inside(x, &dy->shape, pads, &inside))
        walk = walk_start(&inside.shape, &inside.in_y, 1);
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        const float *from = tensor_f32(dy) + inside.from_y + walk.at[0];

        for (int64_t i = 0; i < walk.length; i++)
            sum -= (double)from[i * walk.steps[0]];
    }
    tensor_f32(dvalue)[0] = (float)sum;
}

static struct op_reads pad_backward_reads(const struct node *node,
                                          uint64_t wanted)
{
    struct op_reads reads = gradient_reads_settings(node, wanted);

    reads.inputs &= ~(uint64_t)(1 << PAD_VALUE);
    return reads;
}

static enum assay_status pad_backward(const struct op_context *context,
                                      const struct node *node,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    const struct pad_attrs *attrs = node->attrs;
    const struct shape *x = &pass->inputs[PAD_X]->shape;
    const struct tensor *dy = pass->dy[0], *dx = &pass->dx[PAD_X];
    struct inside inside;
    struct pads pads;
    enum assay_status st = get_pads(node, pass->inputs, &pads, err);

    if (st)
        return st;
    if (attrs->mode == PAD_CONSTANT && op_wants(pass, PAD_VALUE))
        pad_sum_outside(dy, x, &pads, &pass->dx[PAD_VALUE]);
    if (!op_wants(pass, PAD_X) || !tensor_elements(dx))
        return ASSAY_OK;
    if (attrs->mode != PAD_CONSTANT)
        pad_add_mapped(dy, dx, &pads, attrs->mode);
    else if (pad_find_inside(x, &dy->shape, &pads, &inside))
        strided_copy(context, &inside.shape, sizeof(float),
                     tensor_f32(dy) + inside.from_y, &inside.in_y,
                     tensor_f32(dx) + inside.from_x, &inside.in_x);
    return ASSAY_OK;
}

static void pad_to_onnx(struct onnx_sink *to)
{
    static const char *const modes[] = {[PAD_CONSTANT] = "constant",
                                        [PAD_REFLECT] = "reflect",
                                        [PAD_EDGE] = "edge"};
    const struct pad_attrs *attrs = to->node->attrs;

    if (attrs->mode == PAD_WRAP ||
        (to->node->n_inputs > 3 && to->node->inputs[3] != GRAPH_NONE)) {
        onnx_refuse(to, "its padding mode needs a later opset");
        return;
    }
    onnx_attr_text(to, "mode", modes[attrs->mode]);
    onnx_put_node(to, "Pad", 3);
}

static const char *const pad_modes[] = {"constant", "reflect", "edge", "wrap",
                                        NULL};
ATTR_FIELDS(pad, FIELD_WORD(pad_attrs, mode, pad_modes));

const struct op_class op_pad = {
    .name = "Pad",
    OP_ATTRS(pad),
    OP_TAKES(2, 4),
    OP_MAKES(1, 1),
    .infer = pad_infer,
    .host_inputs =
        OP_INPUT(PAD_PADS) | OP_INPUT(PAD_VALUE) | OP_INPUT(PAD_AXES),
    .forward = pad_forward,
    .backward = pad_backward,
    .backward_reads = pad_backward_reads,
    .channels = channel_same_size,
    .to_onnx = pad_to_onnx,
};
