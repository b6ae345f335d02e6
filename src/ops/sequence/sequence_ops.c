/* ops/sequence/sequence_ops.c - see sequence_ops.h. */
#include "ops/sequence/sequence_ops.h"

#include "base/mem.h"
#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/movement/concat.h"
#include "ops/ops.h"
#include "ops/sequence/packed_list.h"

#include <string.h>

/* Resolves a position; `most` is the largest that is allowed. */
static enum assay_status sequence_place(const struct tensor *position,
                                        int64_t fallback, size_t n, size_t most,
                                        size_t *place, struct error *err)
{
    int64_t at;
    enum assay_status st = int_read(position, fallback, &at, err);

    if (st)
        return st;
    *place = (size_t)(at < 0 ? at + (int64_t)n : at);
    if (*place > most || (at < 0 && at + (int64_t)n < 0) ||
        (n == 0 && most == SIZE_MAX))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "position %lld is not in a sequence of %zu",
                       (long long)at, n);
    return st;
}

/* ---- making and changing ------------------------------------------------- */

static enum assay_status
sequence_construct_forward(const struct op_context *context,
                           const struct node *node,
                           const struct tensor *const *inputs,
                           struct tensor *outputs, struct error *err)
{
    struct tensor *items = mem_array(node->n_inputs + 1, sizeof *items);
    enum assay_status st;

    if (!items)
        return error_nomem(err, node->n_inputs * sizeof *items, "a sequence");
    for (size_t i = 0; i < node->n_inputs; i++)
        items[i] = *inputs[i];
    st = packed_make(context->pool, items, node->n_inputs, &outputs[0], err);
    mem_free(items);
    return st;
}

/* The items of a list with one more, or one less (item NULL). */
static enum assay_status sequence_change(const struct op_context *context,
                                         const struct tensor *list,
                                         const struct tensor *item,
                                         const struct tensor *position,
                                         struct tensor *out, struct error *err)
{
    struct packed packed;
    struct tensor *items = NULL;
    size_t place = 0, n = 0;
    enum assay_status st = packed_open(list, &packed, err);

    if (st)
        return st;
    if (item)
        st = sequence_place(position, (int64_t)packed.n, packed.n, packed.n,
                            &place, err);
    else
        st = sequence_place(position, (int64_t)packed.n - 1, packed.n,
                            packed.n - 1, &place, err);
    if (!st && !(items = mem_array(packed.n + 2, sizeof *items)))
        st = error_nomem(err, packed.n * sizeof *items, "a sequence");
    for (size_t i = 0; !st && i <= packed.n; i++) {
        if (item && i == place)
            items[n++] = *item;
        if (i < packed.n && (item || i != place))
            items[n++] = packed.items[i];
    }
    if (!st)
        st = packed_make(context->pool, items, n, out, err);
    mem_free(items);
    packed_close(&packed);
    return st;
}

static enum assay_status
sequence_insert_forward(const struct op_context *context,
                        const struct node *node,
                        const struct tensor *const *inputs,
                        struct tensor *outputs, struct error *err)
{
    return sequence_change(context, inputs[0], inputs[1],
                           op_input(node, inputs, 2), &outputs[0], err);
}

static enum assay_status
sequence_erase_forward(const struct op_context *context,
                       const struct node *node,
                       const struct tensor *const *inputs,
                       struct tensor *outputs, struct error *err)
{
    return sequence_change(context, inputs[0], NULL, op_input(node, inputs, 1),
                           &outputs[0], err);
}

/* ---- reading ------------------------------------------------------------- */

static enum assay_status sequence_at_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    struct packed packed;
    size_t place;
    enum assay_status st = packed_open(inputs[0], &packed, err);

    (void)context, (void)node;
    if (!st)
        st = sequence_place(inputs[1], 0, packed.n, packed.n - 1, &place, err);
    if (!st)
        outputs[0] = tensor_share(&packed.items[place]);
    packed_close(&packed);
    return st;
}

/* A scalar that the op makes itself: ops with a shape rule take no lists. */
static enum assay_status sequence_scalar(const struct op_context *context,
                                         enum dtype dtype, struct tensor *out,
                                         struct error *err)
{
    struct shape scalar = {0};

    return tensor_new(context->pool, dtype, &scalar, out, err);
}

static enum assay_status
sequence_length_forward(const struct op_context *context,
                        const struct node *node,
                        const struct tensor *const *inputs,
                        struct tensor *outputs, struct error *err)
{
    struct packed packed;
    enum assay_status st = packed_open(inputs[0], &packed, err);

    (void)node;
    if (!st)
        st = sequence_scalar(context, DTYPE_I64, &outputs[0], err);
    if (!st)
        *tensor_i64(&outputs[0]) = (int64_t)packed.n;
    packed_close(&packed);
    return st;
}

/* ---- joining and splitting ----------------------------------------------- */

/* Gives each item a new dimension of size 1. */
static enum assay_status sequence_add_axis(struct packed *packed, int64_t axis,
                                           struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < packed->n; i++) {
        struct shape *shape = &packed->items[i].shape;
        int at;

        st = rank_check((size_t)shape->rank + 1, err);
        if (!st)
            st = axis_resolve(axis, shape->rank + 1, &at, err);
        if (st)
            return st;
        memmove(&shape->dims[at + 1], &shape->dims[at],
                (size_t)(shape->rank - at) * sizeof shape->dims[0]);
        shape->dims[at] = 1;
        shape->rank++;
    }
    return st;
}

static enum assay_status sequence_concat(const struct op_context *context,
                                         const struct packed *packed,
                                         int64_t axis, struct tensor *out,
                                         struct error *err)
{
    struct concat_attrs attrs = {.axis = (int)axis};
    struct node node = {.op = &op_concat,
                        .attrs = &attrs,
                        .n_inputs = packed->n,
                        .n_outputs = 1};
    const struct tensor **inputs = mem_array(packed->n, sizeof *inputs);
    enum assay_status st;

    if (!inputs)
        return error_nomem(err, packed->n * sizeof *inputs, "a sequence");
    for (size_t i = 0; i < packed->n; i++)
        inputs[i] = &packed->items[i];
    st = op_concat.infer(&node, inputs, out, err);
    if (!st) {
        struct shape shape = out->shape;

        st = tensor_new(context->pool, out->dtype, &shape, out, err);
    }
    if (!st)
        st = op_concat.forward(context, &node, inputs, out, err);
    mem_free(inputs);
    return st;
}

static enum assay_status
concat_from_sequence_forward(const struct op_context *context,
                             const struct node *node,
                             const struct tensor *const *inputs,
                             struct tensor *outputs, struct error *err)
{
    const struct concat_from_sequence_attrs *attrs = node->attrs;
    struct packed packed;
    enum assay_status st = packed_open(inputs[0], &packed, err);

    if (!st && !packed.n)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "an empty sequence cannot be joined");
    if (!st && attrs->is_new)
        st = sequence_add_axis(&packed, attrs->axis, err);
    if (!st)
        st = sequence_concat(context, &packed, attrs->axis, &outputs[0], err);
    packed_close(&packed);
    return st;
}

/* Reads the lengths of the parts; they are all `each` if it is not 0. */
static enum assay_status sequence_lengths(const struct tensor *lengths,
                                          int64_t size, struct int_list *list,
                                          int64_t *each, struct error *err)
{
    int64_t sum = 0;
    enum assay_status st = int_list_read(lengths, list, err);

    *each = 0;
    if (st)
        return st;
    if (!lengths || lengths->shape.rank == 0) {
        *each = lengths ? list->of[0] : 1;
        return *each > 0 ? ASSAY_OK
                         : error_set(err, ASSAY_BAD_INPUT,
                                     "parts of length %lld", (long long)*each);
    }
    for (size_t i = 0; i < list->n; i++) {
        if (list->of[i] < 0 || list->of[i] > size - sum)
            return error_set(err, ASSAY_BAD_INPUT,
                             "the parts are longer than %lld", (long long)size);
        sum += list->of[i];
    }
    return sum == size ? ASSAY_OK
                       : error_set(err, ASSAY_BAD_INPUT,
                                   "parts of %lld elements for %lld",
                                   (long long)sum, (long long)size);
}

/* Copies the part of x from `first` on, as long as `out` along the axis. */
static enum assay_status sequence_cut(const struct op_context *context,
                                      const struct tensor *x, int axis,
                                      int64_t first, int64_t length,
                                      struct tensor *out, struct error *err)
{
    struct shape shape = x->shape;
    size_t row = (size_t)shape_span(&x->shape, axis + 1, x->shape.rank) *
                 dtype_bytes(x->dtype);
    int64_t blocks = shape_span(&x->shape, 0, axis);
    enum assay_status st;

    shape.dims[axis] = length;
    st = tensor_new(context->pool, x->dtype, &shape, out, err);
    for (int64_t i = 0; !st && row && length && i < blocks; i++)
        memcpy((char *)tensor_data(out) + (size_t)(i * length) * row,
               (const char *)tensor_data(x) +
                   (size_t)(i * x->shape.dims[axis] + first) * row,
               (size_t)length * row);
    return st;
}

static void sequence_drop_axis(struct tensor *tensor, int axis)
{
    struct shape *shape = &tensor->shape;

    memmove(&shape->dims[axis], &shape->dims[axis + 1],
            (size_t)(shape->rank - axis - 1) * sizeof shape->dims[0]);
    shape->rank--;
}

static enum assay_status
split_to_sequence_forward(const struct op_context *context,
                          const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct split_to_sequence_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0], *lengths = op_input(node, inputs, 1);
    int64_t size, each, first = 0;
    struct tensor *items = NULL;
    size_t n_parts, n = 0;
    struct int_list list;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->shape.rank, &axis, err);

    if (st)
        return st;
    size = x->shape.dims[axis];
    st = sequence_lengths(lengths, size, &list, &each, err);
    if (st)
        return st;
    n_parts = each ? (size_t)((size + each - 1) / each) : list.n;
    items = mem_array(n_parts + 1, sizeof *items);
    if (!items)
        st = error_nomem(err, n_parts * sizeof *items, "a sequence");
    for (; !st && n < n_parts; n++) {
        int64_t length = each ? each : list.of[n];

        length = length < size - first ? length : size - first;
        st = sequence_cut(context, x, axis, first, length, &items[n], err);
        if (st)
            break;
        if (!lengths && attrs->drops_axis)
            sequence_drop_axis(&items[n], axis);
        first += length;
    }
    if (!st)
        st = packed_make(context->pool, items, n, &outputs[0], err);
    for (size_t i = 0; items && i < n; i++)
        tensor_release(&items[i]);
    mem_free(items);
    return st;
}

/* ---- optionals ----------------------------------------------------------- */

static enum assay_status
optional_none_forward(const struct op_context *context, const struct node *node,
                      const struct tensor *const *inputs,
                      struct tensor *outputs, struct error *err)
{
    (void)node, (void)inputs;
    return packed_make(context->pool, NULL, 0, &outputs[0], err);
}

static enum assay_status
optional_has_element_forward(const struct op_context *context,
                             const struct node *node,
                             const struct tensor *const *inputs,
                             struct tensor *outputs, struct error *err)
{
    const struct tensor *x = op_input(node, inputs, 0);
    struct packed packed = {0};
    enum assay_status st = ASSAY_OK;

    if (x && x->dtype == DTYPE_SEQUENCE)
        st = packed_open(x, &packed, err);
    if (!st)
        st = sequence_scalar(context, DTYPE_BOOL, &outputs[0], err);
    if (!st)
        *(uint8_t *)tensor_data(&outputs[0]) = x && !packed.is_none;
    packed_close(&packed);
    return st;
}

/* ---- the classes --------------------------------------------------------- */

ATTR_FIELDS(concat_from_sequence, FIELD_AXIS(concat_from_sequence_attrs, axis),
            FIELD_FLAG(concat_from_sequence_attrs, is_new));
ATTR_FIELDS(split_to_sequence, FIELD_AXIS(split_to_sequence_attrs, axis),
            FIELD_FLAG(split_to_sequence_attrs, drops_axis));

#define CLASS(symbol, text, least, most, on_host, ...)                         \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(1, 1),                                                        \
        .host_inputs = on_host,                                                \
        .forward = symbol##_forward,                                           \
        __VA_ARGS__,                                                           \
    };
CLASS(sequence_construct, "SequenceConstruct", 0, SIZE_MAX, 0, .fields = NULL)
CLASS(sequence_insert, "SequenceInsert", 2, 3, OP_INPUT(2), .fields = NULL)
CLASS(sequence_erase, "SequenceErase", 1, 2, OP_INPUT(1), .fields = NULL)
CLASS(sequence_at, "SequenceAt", 2, 2, OP_INPUT(1), .fields = NULL)
CLASS(sequence_length, "SequenceLength", 1, 1, 0, .fields = NULL)
CLASS(concat_from_sequence, "ConcatFromSequence", 1, 1, 0,
      OP_ATTRS(concat_from_sequence))
CLASS(split_to_sequence, "SplitToSequence", 1, 2, OP_INPUT(1),
      OP_ATTRS(split_to_sequence))
CLASS(optional_none, "OptionalNone", 0, 0, 0, .fields = NULL)
CLASS(optional_has_element, "OptionalHasElement", 0, 1, 0, .fields = NULL)
