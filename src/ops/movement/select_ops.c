/* ops/movement/select_ops.c - Where, NonZero and Compress, see select_ops.h. */
#include "ops/movement/select_ops.h"

#include "ops/attr_fields.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"

#include <string.h>

/* ---- Where ------------------------------------------------------------ */

static enum assay_status where_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    struct shape shape;
    enum assay_status st = rule_dtype(inputs, 0, DTYPE_BOOL, err);

    (void)node;
    if (!st)
        st = rule_dtype(inputs, 2, inputs[1]->dtype, err);
    if (!st)
        st = strided_broadcast(inputs, 3, &shape, err);
    if (!st)
        rule_set(&outputs[0], inputs[1]->dtype, &shape);
    return st;
}

static void select_choose(size_t bytes, const struct walk *walk,
                          const uint8_t *condition, const char *x,
                          const char *y, char *to)
{
#define CHOOSE(type)                                                           \
    for (int64_t i = 0; i < walk->length; i++)                                 \
        ((type *)(void *)to)[i] =                                              \
            condition[i * walk->steps[0]]                                      \
                ? ((const type *)(const void *)x)[i * walk->steps[1]]          \
                : ((const type *)(const void *)y)[i * walk->steps[2]];

    if (bytes == 1)
        CHOOSE(uint8_t)
    else if (bytes == 2)
        CHOOSE(uint16_t)
    else if (bytes == 4)
        CHOOSE(uint32_t)
    else
        CHOOSE(uint64_t)
#undef CHOOSE
}

static enum assay_status where_forward(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct shape *shape = &outputs[0].shape;
    int64_t bytes = (int64_t)dtype_bytes(outputs[0].dtype);
    struct strides strides[] = {strides_repeat(&inputs[0]->shape, shape),
                                strides_repeat(&inputs[1]->shape, shape),
                                strides_repeat(&inputs[2]->shape, shape),
                                strides_dense(shape)};
    struct walk walk = walk_start(shape, strides, 4);

    (void)context, (void)node, (void)err;
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk))
        select_choose((size_t)bytes, &walk,
                      (uint8_t *)tensor_data(inputs[0]) + walk.at[0],
                      (char *)tensor_data(inputs[1]) + walk.at[1] * bytes,
                      (char *)tensor_data(inputs[2]) + walk.at[2] * bytes,
                      (char *)tensor_data(&outputs[0]) + walk.at[3] * bytes);
    return ASSAY_OK;
}

static struct op_reads where_reads(const struct node *node, uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){.inputs = 1};
}

/* dy wherever x (or else y) was taken, 0 elsewhere. */
static void take_chosen(const struct tensor *condition, const struct tensor *dy,
                        bool is_x, const struct tensor *to)
{
    const struct shape *shape = &dy->shape;
    struct strides strides[] = {strides_repeat(&condition->shape, shape),
                                strides_dense(shape)};
    struct walk walk = walk_start(shape, strides, 2);

    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        const uint8_t *is_taken =
            (uint8_t *)tensor_data(condition) + walk.at[0];
        const float *read = tensor_f32(dy) + walk.at[1];
        float *write = tensor_f32(to) + walk.at[1];

        for (int64_t i = 0; i < walk.length; i++)
            write[i] = !is_taken[i * walk.steps[0]] == is_x ? 0 : read[i];
    }
}

static enum assay_status where_backward(const struct op_context *context,
                                        const struct node *node,
                                        const struct op_backward *pass,
                                        struct error *err)
{
    const struct tensor *dy = pass->dy[0];
    enum assay_status st = ASSAY_OK;

    (void)node;
    for (size_t i = 1; !st && i < 3; i++) {
        struct tensor chosen;

        if (!op_wants(pass, i))
            continue;
        st = tensor_new(context->pool, DTYPE_F32, &dy->shape, &chosen, err);
        if (st)
            break;
        take_chosen(pass->inputs[0], dy, i == 1, &chosen);
        gradient_sum_to(context, &chosen, &pass->dx[i]);
        tensor_release(&chosen);
    }
    return st;
}

/* ---- NonZero ---------------------------------------------------------- */

/* Whether an element is 0 or -0. */
static bool select_is_zero(enum dtype dtype, const char *element)
{
    static const char zeros[8];
    size_t bytes = dtype_bytes(dtype);
    char copy[8];

    memcpy(copy, element, bytes);
    if (dtype == DTYPE_F4E2M1)
        copy[0] &= 0x7;
    else if (dtype <= DTYPE_BF16 || dtype == DTYPE_F8E4M3FN ||
             dtype == DTYPE_F8E5M2)
        copy[bytes - 1] &= 0x7f;
    return memcmp(copy, zeros, bytes) == 0;
}

/* A byte for each element: whether it is not 0. */
static const uint8_t *non_zero_flags(const struct tensor *x, uint8_t *memory)
{
    const char *data = tensor_data(x);
    size_t bytes = dtype_bytes(x->dtype), n = tensor_elements(x);

    if (x->dtype == DTYPE_BOOL)
        return (const uint8_t *)data;
    for (size_t i = 0; i < n; i++)
        memory[i] = !select_is_zero(x->dtype, data + i * bytes);
    return memory;
}

/* The places of the first `found` elements that are not 0, without branches,
 * which nobody could predict. */
static void non_zero_places(const uint8_t *flags, int64_t found,
                            int64_t *places)
{
    int64_t at = 0;

    for (int64_t i = 0; at < found; i++) {
        places[at] = i;
        at += flags[i] != 0;
    }
}

/* Places in all of x to places along each axis; they come in the first row. */
static void non_zero_split(const struct shape *x, int64_t found, int64_t *rows)
{
    for (int64_t i = 0; i < found && x->rank > 1; i++) {
        int64_t rest = rows[i];

        for (int k = x->rank - 1; k >= 0; k--) {
            rows[k * found + i] = rest % x->dims[k];
            rest /= x->dims[k];
        }
    }
}

static enum assay_status non_zero_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct tensor *x = inputs[0];
    size_t n = tensor_elements(x);
    struct buffer *memory = NULL;
    const uint8_t *flags;
    int64_t found = 0;
    struct shape shape;
    enum assay_status st;

    if (inputs[0]->dtype == DTYPE_SEQUENCE)
        return rule_undefined(node, DTYPE_SEQUENCE, err);
    st = pool_take_scratch(context->pool, n ? n : 1, "places", &memory, err);
    if (st)
        return st;
    flags = non_zero_flags(x, buffer_data(memory));
    for (size_t i = 0; i < n; i++)
        found += flags[i] != 0;
    shape = shape_of(2, (int64_t)x->shape.rank, found);
    st = tensor_new(context->pool, DTYPE_I64, &shape, &outputs[0], err);
    if (!st && x->shape.rank > 0) {
        non_zero_places(flags, found, tensor_i64(&outputs[0]));
        non_zero_split(&x->shape, found, tensor_i64(&outputs[0]));
    }
    buffer_release(memory);
    return st;
}

/* ---- Compress --------------------------------------------------------- */

/* x as outer x size x inner. */
static enum assay_status select_get_rows(const struct select_attrs *attrs,
                                         const struct shape *x, int *axis,
                                         struct shape *rows, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *axis = 0;
    if (attrs->has_axis)
        st = axis_resolve(attrs->axis, x->rank, axis, err);
    if (st)
        return st;
    *rows =
        attrs->has_axis
            ? shape_of(3, shape_span(x, 0, *axis), x->dims[*axis],
                       shape_span(x, *axis + 1, x->rank))
            : shape_of(3, (int64_t)1, shape_span(x, 0, x->rank), (int64_t)1);
    return ASSAY_OK;
}

static enum assay_status compress_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct select_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0];
    const uint8_t *condition = tensor_data(inputs[1]);
    int64_t n = (int64_t)tensor_elements(inputs[1]), kept = 0;
    struct shape rows, shape = x->shape;
    const char *read = tensor_data(x);
    size_t slice;
    char *write;
    int axis;
    enum assay_status st = rule_dtype(inputs, 1, DTYPE_BOOL, err);

    if (inputs[0]->dtype == DTYPE_SEQUENCE)
        return rule_undefined(node, DTYPE_SEQUENCE, err);
    if (!st)
        st = select_get_rows(attrs, &x->shape, &axis, &rows, err);
    if (st)
        return st;
    n = n < rows.dims[1] ? n : rows.dims[1];
    for (int64_t i = 0; i < n; i++)
        kept += condition[i] != 0;
    if (!attrs->has_axis)
        shape = shape_of(1, (int64_t)0);
    shape.dims[axis] = kept;
    st = tensor_new(context->pool, x->dtype, &shape, &outputs[0], err);
    if (st)
        return st;
    slice = (size_t)rows.dims[2] * dtype_bytes(x->dtype);
    write = tensor_data(&outputs[0]);
    for (int64_t outer = 0; outer < rows.dims[0]; outer++) {
        for (int64_t i = 0; i < n; i++) {
            if (!condition[i])
                continue;
            memcpy(write, read + (size_t)i * slice, slice);
            write += slice;
        }
        read += (size_t)rows.dims[1] * slice;
    }
    return ASSAY_OK;
}

SHARED_ATTR_FIELDS(select, FIELD_FLAG(select_attrs, has_axis),
                   FIELD_AXIS(select_attrs, axis),
                   FIELD_FLAG(select_attrs, is_sorted));

const struct op_class op_where = {
    .name = "Where",
    OP_TAKES(3, 3),
    OP_MAKES(1, 1),
    .infer = where_infer,
    .forward = where_forward,
    .backward = where_backward,
    .backward_reads = where_reads,
    .cost = rule_cost_elementwise,
    .to_onnx = onnx_put_named,
};

const struct op_class op_non_zero = {
    .name = "NonZero",
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .forward = non_zero_forward,
    .to_onnx = onnx_put_named,
};

const struct op_class op_compress = {
    .name = "Compress",
    OP_ATTRS(select),
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .forward = compress_forward,
};
