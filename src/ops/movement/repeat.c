/* ops/movement/repeat.c - repeats a tensor: Expand and Tile.
 *
 * Inputs: Expand: x, and the shape to broadcast it with. Tile: x, and how often
 * to repeat it along each axis. */
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

static enum assay_status expand_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct tensor target = {0};
    struct shape shape;
    enum assay_status st = shape_read(inputs[1], &target.shape, err);

    (void)node;
    if (!st)
        st = strided_broadcast(
            (const struct tensor *const[]){inputs[0], &target}, 2, &shape, err);
    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &shape);
    return st;
}

static enum assay_status expand_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    struct strides from = strides_repeat(&inputs[0]->shape, &outputs[0].shape);

    (void)node, (void)err;
    strided_take(context, inputs[0], 0, &from, &outputs[0]);
    return ASSAY_OK;
}

static enum assay_status tile_infer(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    struct shape shape = inputs[0]->shape;
    struct int_list list;
    enum assay_status st = int_list_read(inputs[1], &list, err);

    (void)node;
    if (!st && list.n != (size_t)shape.rank)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%zu repetitions for %d dimensions", list.n, shape.rank);
    for (int i = 0; !st && i < shape.rank; i++) {
        if (list.of[i] < 0 || list.of[i] > INT32_MAX)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "%lld repetitions along axis %d",
                           (long long)list.of[i], i);
        else
            shape.dims[i] *= list.of[i];
    }
    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &shape);
    return st;
}

/* Repeats along an axis what y already holds, its first `done` elements. */
static void tile_repeat_axis(const struct op_context *context,
                             const struct shape *done, int axis, size_t bytes,
                             const struct tensor *y)
{
    struct strides strides = strides_dense(&y->shape);
    int64_t step = done->dims[axis] * strides.of[axis] * (int64_t)bytes;
    char *data = tensor_data(y);

    for (int64_t at = done->dims[axis]; at < y->shape.dims[axis];
         at += done->dims[axis]) {
        data += step;
        strided_copy(context, done, bytes, tensor_data(y), &strides, data,
                     &strides);
    }
}

static enum assay_status tile_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0], *y = &outputs[0];
    struct strides to = strides_dense(&y->shape);
    struct shape done = x->shape;

    (void)node, (void)err;
    if (!tensor_elements(y))
        return ASSAY_OK;
    strided_put(context, x, y, 0, &to);
    for (int i = done.rank - 1; i >= 0; i--) {
        tile_repeat_axis(context, &done, i, dtype_bytes(x->dtype), y);
        done.dims[i] = y->shape.dims[i];
    }
    return ASSAY_OK;
}

static enum assay_status expand_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    (void)node, (void)err;
    gradient_sum_to(context, pass->dy[0], &pass->dx[0]);
    return ASSAY_OK;
}

/* Where in x the row begins that this row of y repeats. */
static int64_t tile_source_row(const struct shape *x, const struct shape *y,
                               int64_t row)
{
    int64_t at = 0, step = x->dims[x->rank - 1];

    for (int i = x->rank - 2; i >= 0; i--) {
        at += row % y->dims[i] % x->dims[i] * step;
        row /= y->dims[i];
        step *= x->dims[i];
    }
    return at;
}

static enum assay_status tile_backward(const struct op_context *context,
                                       const struct node *node,
                                       const struct op_backward *pass,
                                       struct error *err)
{
    const struct shape *x = &pass->dx[0].shape, *y = &pass->dy[0]->shape;
    const float *dy = tensor_f32(pass->dy[0]);
    int last = x->rank - 1;

    (void)context, (void)node, (void)err;
    if (x->rank == 0)
        *tensor_f32(&pass->dx[0]) = *dy;
    if (x->rank == 0 || !tensor_elements(pass->dy[0]))
        return ASSAY_OK;
    for (int64_t row = 0; row < shape_span(y, 0, last); row++) {
        float *to = tensor_f32(&pass->dx[0]) + tile_source_row(x, y, row);

        for (int64_t i = 0; i < y->dims[last]; i++)
            to[i % x->dims[last]] += *dy++;
    }
    return ASSAY_OK;
}

#define CLASS(symbol, text)                                                    \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_TAKES(2, 2),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = symbol##_infer,                                               \
        .host_inputs = OP_INPUT(1),                                            \
        .forward = symbol##_forward,                                           \
        .backward = symbol##_backward,                                         \
        .to_onnx = onnx_put_named,                                             \
    };
CLASS(expand, "Expand")
CLASS(tile, "Tile")
