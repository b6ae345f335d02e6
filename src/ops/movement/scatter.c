/* ops/movement/scatter.c - ScatterElements and ScatterND, see gather.h. */
#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/movement/gather.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"

#include <string.h>

enum scatter_input { SCATTER_X, SCATTER_INDICES, SCATTER_UPDATES };

/* n updates into as many elements that lie one behind the other. */
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

static enum assay_status check_elements(const struct tensor *const *inputs,
                                        int axis, struct error *err)
{
    const struct shape *x = &inputs[SCATTER_X]->shape;
    const struct shape *updates = &inputs[SCATTER_UPDATES]->shape;
    bool fits = updates->rank == x->rank &&
                shape_equal(updates, &inputs[SCATTER_INDICES]->shape);
    char a[64], b[64];

    for (int i = 0; fits && i < x->rank; i++)
        fits = i == axis || updates->dims[i] <= x->dims[i];
    if (fits)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT, "updates %s do not fit x %s",
                     shape_text(updates, a, sizeof a),
                     shape_text(x, b, sizeof b));
}

static enum assay_status
run_scatter_elements(const struct op_context *context, const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    const struct scatter_attrs *attrs = node->attrs;
    const struct shape *x = &outputs[0].shape;
    const struct shape *updates = &inputs[SCATTER_UPDATES]->shape;
    const int64_t *indices = tensor_data(inputs[SCATTER_INDICES]);
    struct strides strides[] = {strides_dense(x), strides_dense(updates)};
    size_t bytes = dtype_bytes(outputs[0].dtype);
    const char *read = tensor_data(inputs[SCATTER_UPDATES]);
    char *write = tensor_data(&outputs[0]);
    struct walk walk;
    int64_t jump;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    (void)context;
    if (!st)
        st = check_elements(inputs, axis, err);
    if (st)
        return st;
    memcpy(write, tensor_data(inputs[SCATTER_X]), tensor_bytes(&outputs[0]));
    jump = strides[0].of[axis];
    strides[0].of[axis] = 0;
    walk = walk_start(updates, strides, 2);
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        for (int64_t i = 0; !st && i < walk.length; i++) {
            int64_t from = walk.at[1] + i * walk.steps[1], at;

            st = index_resolve(indices[from], x->dims[axis], &at, err);
            at = walk.at[0] + i * walk.steps[0] + at * jump;
            if (!st)
                scatter_put(outputs[0].dtype, attrs->reduction,
                            read + (size_t)from * bytes,
                            write + (size_t)at * bytes, 1);
        }
    }
    return st;
}

static enum assay_status run_scatter_nd(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct scatter_attrs *attrs = node->attrs;
    const struct shape *x = &outputs[0].shape;
    const struct shape *indices = &inputs[SCATTER_INDICES]->shape;
    int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : -1;
    struct strides strides = strides_dense(x);
    size_t bytes = dtype_bytes(outputs[0].dtype), slice, tuples;
    const int64_t *tuple = tensor_data(inputs[SCATTER_INDICES]);
    const char *read = tensor_data(inputs[SCATTER_UPDATES]);
    char *write = tensor_data(&outputs[0]);
    enum assay_status st = ASSAY_OK;

    (void)context;
    if (depth < 0 || depth > x->rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "indices of %lld axes for rank %d", (long long)depth,
                         x->rank);
    slice = (size_t)shape_span(x, (int)depth, x->rank);
    tuples = (size_t)shape_span(indices, 0, indices->rank - 1);
    if (tensor_elements(inputs[SCATTER_UPDATES]) != tuples * slice)
        return error_set(
            err, ASSAY_BAD_INPUT, "%zu updates where %zu are indexed",
            tensor_elements(inputs[SCATTER_UPDATES]), tuples * slice);
    memcpy(write, tensor_data(inputs[SCATTER_X]), tensor_bytes(&outputs[0]));
    for (size_t i = 0; !st && i < tuples; i++, tuple += depth) {
        int64_t start = 0, at;

        for (int k = 0; !st && k < depth; k++) {
            st = index_resolve(tuple[k], x->dims[k], &at, err);
            start += at * strides.of[k];
        }
        if (!st)
            scatter_put(outputs[0].dtype, attrs->reduction,
                        read + i * slice * bytes, write + (size_t)start * bytes,
                        slice);
    }
    return st;
}

static const char *const reductions[] = {"none", "add", "mul",
                                         "min",  "max", NULL};
ATTR_FIELDS(scatter, FIELD_AXIS(scatter_attrs, axis),
            FIELD_WORD(scatter_attrs, reduction, reductions));

#define CLASS(symbol, text)                                                    \
    WIDEN_FORWARD(forward_##symbol, run_##symbol)                              \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct scatter_attrs),                           \
        .fields = scatter_fields,                                              \
        .min_inputs = 3,                                                       \
        .max_inputs = 3,                                                       \
        .min_outputs = 1,                                                      \
        .max_outputs = 1,                                                      \
        .infer = scatter_infer,                                                \
        .forward = forward_##symbol,                                           \
    };
CLASS(scatter_elements, "ScatterElements")
CLASS(scatter_nd, "ScatterND")
