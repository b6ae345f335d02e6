/* ops/movement/gather.c - see gather.h. */
#include "ops/movement/gather.h"

#include "ops/attr_fields.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"

#include <string.h>

enum gather_input { GATHER_X, GATHER_INDICES };

static enum assay_status too_many(int rank, struct error *err)
{
    return error_set(err, ASSAY_UNSUPPORTED, "%d dimensions; %d are the most",
                     rank, SHAPE_MAX_RANK);
}

/* ---- Gather: whole slices along an axis -------------------------------- */

static enum assay_status infer_gather(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[GATHER_X]->shape;
    const struct shape *indices = &inputs[GATHER_INDICES]->shape;
    struct shape y = {0};
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    if (!st)
        st = indices_check(inputs, GATHER_INDICES, err);
    if (!st && x->rank - 1 + indices->rank > SHAPE_MAX_RANK)
        st = too_many(x->rank - 1 + indices->rank, err);
    if (st)
        return st;
    for (int i = 0; i < axis; i++)
        y.dims[y.rank++] = x->dims[i];
    for (int i = 0; i < indices->rank; i++)
        y.dims[y.rank++] = indices->dims[i];
    for (int i = axis + 1; i < x->rank; i++)
        y.dims[y.rank++] = x->dims[i];
    rule_set(&outputs[0], inputs[GATHER_X]->dtype, &y);
    return ASSAY_OK;
}

static enum assay_status run_gather(const struct op_context *context,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[GATHER_X]->shape;
    const int64_t *indices = tensor_data(inputs[GATHER_INDICES]);
    size_t n = tensor_elements(inputs[GATHER_INDICES]), slice;
    const char *read = tensor_data(inputs[GATHER_X]);
    char *write = tensor_data(&outputs[0]);
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    (void)context;
    if (st)
        return st;
    slice = (size_t)shape_span(x, axis + 1, x->rank) *
            dtype_bytes(outputs[0].dtype);
    for (int64_t outer = 0; outer < shape_span(x, 0, axis); outer++) {
        for (size_t i = 0; !st && i < n; i++, write += slice) {
            int64_t at;

            st = index_resolve(indices[i], x->dims[axis], &at, err);
            if (!st)
                memcpy(write, read + (size_t)at * slice, slice);
        }
        read += (size_t)x->dims[axis] * slice;
    }
    return st;
}

static struct op_reads gather_backward_reads(const struct node *node,
                                             uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){.inputs = 1 << GATHER_INDICES};
}

/* Slices that were picked several times get the sum. */
static enum assay_status backward_gather(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct tensor *indices = pass->inputs[GATHER_INDICES];
    const struct shape *x = &pass->dx[0].shape;
    int64_t n = (int64_t)tensor_elements(indices), slice, outer;
    int parts = gradient_parts(context, tensor_elements(pass->dy[0]));
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    if (st)
        return st;
    slice = shape_span(x, axis + 1, x->rank);
    outer = shape_span(x, 0, axis);
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t o = 0; o < outer; o++) {
        float *dx = tensor_f32(&pass->dx[0]) + o * x->dims[axis] * slice;
        const float *dy = tensor_f32(pass->dy[0]) + o * n * slice;

        for (int64_t i = 0; i < n; i++) {
            int64_t at = int_at(indices, (size_t)i);

            at += at < 0 ? x->dims[axis] : 0;
            for (int64_t k = 0; k < slice; k++)
                dx[at * slice + k] += dy[i * slice + k];
        }
    }
    return ASSAY_OK;
}

/* ---- GatherElements: one element an index ------------------------------ */

static enum assay_status
infer_gather_elements(const struct node *node,
                      const struct tensor *const *inputs,
                      struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[GATHER_X]->shape;
    enum assay_status st = indices_check(inputs, GATHER_INDICES, err);

    (void)node;
    rule_set(&outputs[0], inputs[GATHER_X]->dtype,
             &inputs[GATHER_INDICES]->shape);
    return st ? st : rule_rank(inputs, GATHER_INDICES, x->rank, err);
}

static enum assay_status run_gather_elements(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[GATHER_X]->shape;
    const struct shape *y = &outputs[0].shape;
    const int64_t *indices = tensor_data(inputs[GATHER_INDICES]);
    size_t bytes = dtype_bytes(outputs[0].dtype);
    struct strides strides[] = {strides_dense(x), strides_dense(y)};
    const char *read = tensor_data(inputs[GATHER_X]);
    char *write = tensor_data(&outputs[0]);
    struct walk walk;
    int64_t jump;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    (void)context;
    for (int i = 0; !st && i < x->rank; i++) {
        if (i != axis && y->dims[i] > x->dims[i])
            st = error_set(err, ASSAY_BAD_INPUT,
                           "indices for %lld of %lld elements of axis %d",
                           (long long)y->dims[i], (long long)x->dims[i], i);
    }
    if (st)
        return st;
    jump = strides[0].of[axis];
    strides[0].of[axis] = 0;
    walk = walk_start(y, strides, 2);
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        for (int64_t i = 0; !st && i < walk.length; i++) {
            int64_t to = walk.at[1] + i * walk.steps[1], at;

            st = index_resolve(indices[to], x->dims[axis], &at, err);
            at = walk.at[0] + i * walk.steps[0] + at * jump;
            if (!st)
                memcpy(write + (size_t)to * bytes, read + (size_t)at * bytes,
                       bytes);
        }
    }
    return st;
}

/* ---- GatherND: slices, an index for each leading axis ------------------- */

static enum assay_status infer_gather_nd(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[GATHER_X]->shape;
    const struct shape *indices = &inputs[GATHER_INDICES]->shape;
    int batch = (int)attrs->batch_dims;
    int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : 0;
    struct shape y = {0};

    if (depth < 1 || attrs->batch_dims < 0 || batch >= indices->rank ||
        batch + depth > x->rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "indices of %lld axes behind %d do not fit rank %d",
                         (long long)depth, batch, x->rank);
    if (indices->rank - 1 + x->rank - batch - (int)depth > SHAPE_MAX_RANK)
        return too_many(indices->rank + x->rank, err);
    for (int i = 0; i < indices->rank - 1; i++)
        y.dims[y.rank++] = indices->dims[i];
    for (int i = batch + (int)depth; i < x->rank; i++)
        y.dims[y.rank++] = x->dims[i];
    for (int i = 0; i < batch; i++) {
        if (x->dims[i] != indices->dims[i])
            return error_set(
                err, ASSAY_BAD_INPUT, "batches of %lld and of %lld",
                (long long)x->dims[i], (long long)indices->dims[i]);
    }
    rule_set(&outputs[0], inputs[GATHER_X]->dtype, &y);
    return indices_check(inputs, GATHER_INDICES, err);
}

/* The element where the slice of an index tuple begins. */
static enum assay_status slice_start(const struct shape *x, int first,
                                     const int64_t *tuple, int depth,
                                     int64_t *start, struct error *err)
{
    struct strides strides = strides_dense(x);
    enum assay_status st = ASSAY_OK;

    *start = 0;
    for (int i = 0; !st && i < depth; i++) {
        int64_t at;

        st = index_resolve(tuple[i], x->dims[first + i], &at, err);
        *start += at * strides.of[first + i];
    }
    return st;
}

static enum assay_status run_gather_nd(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[GATHER_X]->shape;
    const struct shape *indices = &inputs[GATHER_INDICES]->shape;
    int batch = (int)attrs->batch_dims;
    int depth = (int)indices->dims[indices->rank - 1];
    int64_t tuples = shape_span(indices, batch, indices->rank - 1);
    size_t bytes = dtype_bytes(outputs[0].dtype);
    size_t slice = (size_t)shape_span(x, batch + depth, x->rank) * bytes;
    size_t whole = (size_t)shape_span(x, batch, x->rank) * bytes;
    const int64_t *tuple = tensor_data(inputs[GATHER_INDICES]);
    const char *read = tensor_data(inputs[GATHER_X]);
    char *write = tensor_data(&outputs[0]);
    enum assay_status st = ASSAY_OK;

    (void)context;
    for (int64_t b = 0; b < shape_span(x, 0, batch); b++, read += whole) {
        for (int64_t i = 0; !st && i < tuples; i++, tuple += depth) {
            int64_t start;

            st = slice_start(x, batch, tuple, depth, &start, err);
            if (!st)
                memcpy(write, read + (size_t)start * bytes, slice);
            write += slice;
        }
    }
    return st;
}

/* Of the data, no more is read than comes out. */
static void gather_count_cost(const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *outputs, struct cost *cost)
{
    (void)node;
    cost_touches(cost, inputs[0], tensor_bytes(&outputs[0]));
}

static void gather_to_onnx(struct onnx_sink *to)
{
    const struct gather_attrs *attrs = to->node->attrs;

    if (to->node->op == &op_gather_nd)
        onnx_attr_int(to, "batch_dims", attrs->batch_dims);
    else
        onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, to->node->op->name, ONNX_ALL_INPUTS);
}

ATTR_FIELDS(gather, FIELD_AXIS(gather_attrs, axis),
            FIELD_AMOUNT(gather_attrs, batch_dims));

/* X(symbol, name, backward, what it reads) */
#define GATHER_LIST(X)                                                         \
    X(gather, "Gather", backward_gather, gather_backward_reads)                \
    X(gather_elements, "GatherElements", NULL, NULL)                           \
    X(gather_nd, "GatherND", NULL, NULL)

#define CLASS(symbol, text, passes, reads)                                     \
    WIDEN_FORWARD(forward_##symbol, run_##symbol)                              \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct gather_attrs),                            \
        .fields = gather_fields,                                               \
        .min_inputs = 2,                                                       \
        .max_inputs = 2,                                                       \
        .min_outputs = 1,                                                      \
        .max_outputs = 1,                                                      \
        .infer = infer_##symbol,                                               \
        .forward = forward_##symbol,                                           \
        .cost = gather_count_cost,                                             \
        .backward = passes,                                                    \
        .backward_reads = reads,                                               \
        .to_onnx = gather_to_onnx,                                             \
    };
GATHER_LIST(CLASS)
