/* ops/movement/gather.c - see gather.h. */
#include "ops/movement/gather.h"

#include "ops/attr_fields.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/rows_internal.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"

#include <string.h>

enum gather_input { GATHER_X, GATHER_INDICES };
enum scatter_input { SCATTER_X, SCATTER_INDICES, SCATTER_UPDATES };

/* An index counted from 0; -1 if it is outside. */
static inline int64_t index_place(int64_t index, int64_t size)
{
    int64_t place = index < 0 ? index + size : index;

    return place >= 0 && place < size ? place : -1;
}

/* The same; ASSAY_BAD_INPUT if it is outside. */
static enum assay_status index_resolve(int64_t index, int64_t size,
                                       int64_t *resolved, struct error *err)
{
    *resolved = index_place(index, size);
    if (*resolved >= 0)
        return ASSAY_OK;
    *resolved = 0; /* callers compute an offset from it */
    return error_set(err, ASSAY_BAD_INPUT,
                     "index %lld is outside an axis of %lld elements",
                     (long long)index, (long long)size);
}

/* Copies all n slices, or those before an index that is outside: how many. */
static inline size_t pick_known(const char *read, int64_t size,
                                const int64_t *indices, size_t n, char *write,
                                size_t slice)
{
    for (size_t i = 0; i < n; i++) {
        int64_t at = index_place(indices[i], size);

        if (at < 0)
            return i;
        memcpy(write + i * slice, read + (size_t)at * slice, slice);
    }
    return n;
}

/* Copies the slices of so many bytes that n indices into an axis of `size`
 * name. The usual lengths are constants, as in rows_copy(). */
static enum assay_status pick_slices(const char *read, int64_t size,
                                     const int64_t *indices, size_t n,
                                     char *write, size_t slice,
                                     struct error *err)
{
    size_t done;
    int64_t at;

    if (slice == 4)
        done = pick_known(read, size, indices, n, write, 4);
    else if (slice == 8)
        done = pick_known(read, size, indices, n, write, 8);
    else if (slice == 16)
        done = pick_known(read, size, indices, n, write, 16);
    else
        done = pick_known(read, size, indices, n, write, slice);
    return done == n ? ASSAY_OK : index_resolve(indices[done], size, &at, err);
}

/* ---- Gather: whole slices along an axis -------------------------------- */

static enum assay_status gather_infer(const struct node *node,
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
    if (!st)
        st = rank_check((size_t)x->rank + (size_t)indices->rank - 1, err);
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

bool gather_is_slice(const struct node *node,
                     const struct tensor *const *inputs, int64_t *first)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct tensor *indices = inputs[GATHER_INDICES];
    const struct shape *x = &inputs[GATHER_X]->shape;
    int64_t at;
    int axis;

    if (tensor_elements(indices) != 1 ||
        axis_resolve(attrs->axis, x->rank, &axis, NULL) ||
        shape_span(x, 0, axis) != 1 ||
        index_resolve(int_at(indices, 0), x->dims[axis], &at, NULL))
        return false;
    *first = at * shape_span(x, axis + 1, x->rank);
    return true;
}

static enum assay_status gather_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[GATHER_X]->shape;
    const int64_t *indices = tensor_data(inputs[GATHER_INDICES]);
    size_t n = tensor_elements(inputs[GATHER_INDICES]), slice, whole;
    const char *read = tensor_data(inputs[GATHER_X]);
    char *write = tensor_data(&outputs[0]);
    int64_t outer;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    (void)context;
    if (st)
        return st;
    slice = (size_t)shape_span(x, axis + 1, x->rank) *
            dtype_bytes(outputs[0].dtype);
    whole = (size_t)x->dims[axis] * slice;
    outer = shape_span(x, 0, axis);
    if (n == 1 && outer) { /* the slices lie at equal distances */
        int64_t at;

        st = index_resolve(indices[0], x->dims[axis], &at, err);
        if (!st)
            rows_copy(write, slice, read + (size_t)at * slice, whole, slice,
                      (size_t)outer);
        return st;
    }
    for (int64_t o = 0; !st && o < outer;
         o++, read += whole, write += n * slice)
        st = pick_slices(read, x->dims[axis], indices, n, write, slice, err);
    return st;
}

/* A slice that was picked several times gets the sum. */
static enum assay_status gather_backward(const struct op_context *context,
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

/* ---- GatherElements, ScatterElements: one element per index ------------ */

static enum assay_status
gather_elements_infer(const struct node *node,
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

static enum assay_status scatter_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    enum assay_status st = indices_check(inputs, SCATTER_INDICES, err);

    (void)node;
    rule_set(&outputs[0], inputs[SCATTER_X]->dtype, &inputs[SCATTER_X]->shape);
    return st ? st
              : rule_dtype(inputs, SCATTER_UPDATES, inputs[SCATTER_X]->dtype,
                           err);
}

static enum assay_status scatter_check(const struct tensor *const *inputs,
                                       int axis, struct error *err)
{
    const struct shape *x = &inputs[SCATTER_X]->shape;
    const struct shape *updates = &inputs[SCATTER_UPDATES]->shape;
    bool fits = updates->rank == x->rank &&
                shape_equal(updates, &inputs[SCATTER_INDICES]->shape);

    for (int i = 0; fits && i < x->rank; i++)
        fits = i == axis || updates->dims[i] <= x->dims[i];
    return fits ? ASSAY_OK : rule_misfit("updates", updates, "x", x, err);
}

/* Applies n updates to n consecutive elements. */
static void scatter_put(enum dtype dtype, enum scatter_reduction reduction,
                        const char *updates, char *elements, size_t n)
{
#define PUT(type)                                                              \
    for (size_t i = 0; i < n; i++) {                                           \
        type update = ((const type *)(const void *)updates)[i];                \
        type *element = &((type *)(void *)elements)[i];                        \
                                                                               \
        if (reduction == SCATTER_ADD)                                          \
            *element = (type)(*element + update);                              \
        else if (reduction == SCATTER_MUL)                                     \
            *element = (type)(*element * update);                              \
        else if (reduction == SCATTER_MIN)                                     \
            *element = *element < update ? *element : update;                  \
        else                                                                   \
            *element = *element > update ? *element : update;                  \
    }

    if (reduction == SCATTER_NONE)
        memcpy(elements, updates, n * dtype_bytes(dtype));
    else if (dtype == DTYPE_F32)
        PUT(float)
    else if (dtype == DTYPE_F64)
        PUT(double)
    else if (dtype == DTYPE_I64)
        PUT(int64_t)
    else if (dtype == DTYPE_U64)
        PUT(uint64_t)
    else
        PUT(uint8_t)
#undef PUT
}

/* Visits the element of x that each index names and the element of y in the
 * index's place: copies from x to y, or applies y as an update to x. */
static enum assay_status run_elements(const struct tensor *x, int axis,
                                      const struct tensor *indices,
                                      const struct tensor *y, bool is_scatter,
                                      enum scatter_reduction reduction,
                                      struct error *err)
{
    struct strides strides[] = {strides_dense(&x->shape),
                                strides_dense(&y->shape)};
    int64_t jump = strides[0].of[axis], bytes = (int64_t)dtype_bytes(x->dtype);
    char *x_data = tensor_data(x), *y_data = tensor_data(y);
    struct walk walk;
    enum assay_status st = ASSAY_OK;

    strides[0].of[axis] = 0;
    walk = walk_start(&y->shape, strides, 2);
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        for (int64_t i = 0; !st && i < walk.length; i++) {
            int64_t in_y = walk.at[1] + i * walk.steps[1], in_x;

            st = index_resolve(tensor_i64(indices)[in_y], x->shape.dims[axis],
                               &in_x, err);
            in_x = walk.at[0] + i * walk.steps[0] + in_x * jump;
            if (!st && is_scatter)
                scatter_put(x->dtype, reduction, y_data + in_y * bytes,
                            x_data + in_x * bytes, 1);
            else if (!st)
                memcpy(y_data + in_y * bytes, x_data + in_x * bytes,
                       (size_t)bytes);
        }
    }
    return st;
}

static enum assay_status
gather_elements_kernel(const struct op_context *context,
                       const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    const struct gather_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[GATHER_X]->shape;
    const struct shape *y = &outputs[0].shape;
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
    return run_elements(inputs[GATHER_X], axis, inputs[GATHER_INDICES],
                        &outputs[0], false, SCATTER_NONE, err);
}

static enum assay_status
scatter_elements_kernel(const struct op_context *context,
                        const struct node *node,
                        const struct tensor *const *inputs,
                        struct tensor *outputs, struct error *err)
{
    const struct scatter_attrs *attrs = node->attrs;
    int axis;
    enum assay_status st =
        axis_resolve(attrs->axis, outputs[0].shape.rank, &axis, err);

    (void)context;
    if (!st)
        st = scatter_check(inputs, axis, err);
    if (st)
        return st;
    memcpy(tensor_data(&outputs[0]), tensor_data(inputs[SCATTER_X]),
           tensor_bytes(&outputs[0]));
    return run_elements(&outputs[0], axis, inputs[SCATTER_INDICES],
                        inputs[SCATTER_UPDATES], true, attrs->reduction, err);
}

/* ---- GatherND, ScatterND: slices, an index for each leading axis -------- */

static enum assay_status gather_nd_infer(const struct node *node,
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
                         "indices into %lld axes after %d do not fit rank %d",
                         (long long)depth, batch, x->rank);
    if (rank_check((size_t)(indices->rank - 1 + x->rank - batch - (int)depth),
                   err))
        return ASSAY_UNSUPPORTED;
    for (int i = 0; i < indices->rank - 1; i++)
        y.dims[y.rank++] = indices->dims[i];
    for (int i = batch + (int)depth; i < x->rank; i++)
        y.dims[y.rank++] = x->dims[i];
    for (int i = 0; i < batch; i++) {
        if (x->dims[i] != indices->dims[i])
            return error_set(
                err, ASSAY_BAD_INPUT, "batches of %lld and %lld differ",
                (long long)x->dims[i], (long long)indices->dims[i]);
    }
    rule_set(&outputs[0], inputs[GATHER_X]->dtype, &y);
    return indices_check(inputs, GATHER_INDICES, err);
}

/* Where the slice that an index tuple names begins. */
static enum assay_status slice_start(const struct shape *x,
                                     const struct strides *strides, int first,
                                     const int64_t *tuple, int depth,
                                     int64_t *start, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *start = 0;
    for (int i = 0; !st && i < depth; i++) {
        int64_t at;

        st = index_resolve(tuple[i], x->dims[first + i], &at, err);
        *start += at * strides->of[first + i];
    }
    return st;
}

static enum assay_status gather_nd_kernel(const struct op_context *context,
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
    size_t tuples = (size_t)shape_span(indices, batch, indices->rank - 1);
    size_t bytes = dtype_bytes(outputs[0].dtype);
    size_t slice = (size_t)shape_span(x, batch + depth, x->rank) * bytes;
    size_t whole = (size_t)shape_span(x, batch, x->rank) * bytes;
    const struct strides strides = strides_dense(x);
    const int64_t *tuple = tensor_data(inputs[GATHER_INDICES]);
    const char *read = tensor_data(inputs[GATHER_X]);
    char *write = tensor_data(&outputs[0]);
    enum assay_status st = ASSAY_OK;

    (void)context;
    for (int64_t b = 0; !st && b < shape_span(x, 0, batch); b++) {
        if (depth == 1)
            st = pick_slices(read, x->dims[batch], tuple, tuples, write, slice,
                             err);
        for (size_t i = 0; depth > 1 && !st && i < tuples; i++) {
            int64_t start;

            st = slice_start(x, &strides, batch, tuple + i * (size_t)depth,
                             depth, &start, err);
            if (!st)
                rows_copy(write + i * slice, slice,
                          read + (size_t)start * bytes, slice, slice, 1);
        }
        read += whole;
        tuple += tuples * (size_t)depth;
        write += tuples * slice;
    }
    return st;
}

static enum assay_status scatter_nd_kernel(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct scatter_attrs *attrs = node->attrs;
    const struct shape *x = &outputs[0].shape;
    const struct shape *indices = &inputs[SCATTER_INDICES]->shape;
    int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : -1;
    size_t bytes = dtype_bytes(outputs[0].dtype), slice, tuples;
    const struct strides strides = strides_dense(x);
    const int64_t *tuple = tensor_data(inputs[SCATTER_INDICES]);
    const char *read = tensor_data(inputs[SCATTER_UPDATES]);
    char *write = tensor_data(&outputs[0]);
    enum assay_status st = ASSAY_OK;

    (void)context;
    if (depth < 0 || depth > x->rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "indices into %lld axes of a tensor of rank %d",
                         (long long)depth, x->rank);
    slice = (size_t)shape_span(x, (int)depth, x->rank);
    tuples = (size_t)shape_span(indices, 0, indices->rank - 1);
    if (tensor_elements(inputs[SCATTER_UPDATES]) != tuples * slice)
        return error_set(
            err, ASSAY_BAD_INPUT, "%zu updates for %zu indexed elements",
            tensor_elements(inputs[SCATTER_UPDATES]), tuples * slice);
    memcpy(write, tensor_data(inputs[SCATTER_X]), tensor_bytes(&outputs[0]));
    for (size_t i = 0; !st && i < tuples; i++, tuple += depth) {
        int64_t start;

        st = slice_start(x, &strides, 0, tuple, (int)depth, &start, err);
        if (!st)
            scatter_put(outputs[0].dtype, attrs->reduction,
                        read + i * slice * bytes, write + (size_t)start * bytes,
                        slice);
    }
    return st;
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

#define GATHER_CLASS(symbol, text, passes, reads)                              \
    WIDEN_FORWARD(symbol##_forward, symbol##_kernel)                           \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(gather),                                                      \
        OP_TAKES(2, 2),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = symbol##_infer,                                               \
        .forward = symbol##_forward,                                           \
        .cost = rule_cost_taken,                                               \
        .backward = passes,                                                    \
        .backward_reads = reads,                                               \
        .to_onnx = gather_to_onnx,                                             \
    };
GATHER_CLASS(gather, "Gather", gather_backward, gradient_reads_settings)
GATHER_CLASS(gather_elements, "GatherElements", NULL, NULL)
GATHER_CLASS(gather_nd, "GatherND", NULL, NULL)

static const char *const reductions[] = {"none", "add", "mul",
                                         "min",  "max", NULL};
ATTR_FIELDS(scatter, FIELD_AXIS(scatter_attrs, axis),
            FIELD_WORD(scatter_attrs, reduction, reductions));

#define SCATTER_CLASS(symbol, text)                                            \
    WIDEN_FORWARD(symbol##_forward, symbol##_kernel)                           \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(scatter),                                                     \
        OP_TAKES(3, 3),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = scatter_infer,                                                \
        .forward = symbol##_forward,                                           \
    };
SCATTER_CLASS(scatter_elements, "ScatterElements")
SCATTER_CLASS(scatter_nd, "ScatterND")
