/* ops/movement/unique.c - each distinct value, or slice along an axis; see
 * select_ops.h. */
#include "base/mem.h"
#include "ops/int_list_internal.h"
#include "ops/math/score_rank_internal.h"
#include "ops/movement/select_ops.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"

#include <stdlib.h>
#include <string.h>

/* n slices of x, of `length` elements each. */
struct slices {
    int64_t n, length, outer, inner;
    uint64_t *keys;  /* those of slice i start at i * length */
    int64_t *order;  /* the slices sorted, stable */
    int64_t *group;  /* of each slice */
    int64_t *first;  /* slice of each group */
    int64_t *counts; /* of each group */
    int64_t n_groups;
};

static int unique_compare(const void *a, const void *b, void *context)
{
    const struct slices *slices = context;
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    const uint64_t *x_keys = slices->keys + x * slices->length;
    const uint64_t *y_keys = slices->keys + y * slices->length;

    for (int64_t i = 0; i < slices->length; i++) {
        if (x_keys[i] != y_keys[i])
            return x_keys[i] < y_keys[i] ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static bool is_equal(const struct slices *slices, int64_t x, int64_t y)
{
    return memcmp(slices->keys + x * slices->length,
                  slices->keys + y * slices->length,
                  (size_t)slices->length * sizeof *slices->keys) == 0;
}

static void unique_release(struct slices *slices)
{
    mem_free(slices->keys);
    mem_free(slices->order);
    mem_free(slices->group);
    mem_free(slices->first);
    mem_free(slices->counts);
}

static enum assay_status make_slices(const struct select_attrs *attrs,
                                     const struct tensor *x,
                                     struct slices *slices, struct error *err)
{
    int axis = 0;
    enum assay_status st = ASSAY_OK;
    size_t n;

    *slices = (struct slices){.outer = 1, .inner = 1};
    if (attrs->has_axis)
        st = axis_resolve(attrs->axis, x->shape.rank, &axis, err);
    if (st)
        return st;
    slices->n =
        attrs->has_axis ? x->shape.dims[axis] : (int64_t)tensor_elements(x);
    if (attrs->has_axis) {
        slices->outer = shape_span(&x->shape, 0, axis);
        slices->inner = shape_span(&x->shape, axis + 1, x->shape.rank);
    }
    slices->length = slices->outer * slices->inner;
    n = (size_t)slices->n;
    slices->keys = mem_array(tensor_elements(x), sizeof *slices->keys);
    slices->order = mem_array(n, sizeof *slices->order);
    slices->group = mem_array(n, sizeof *slices->group);
    slices->first = mem_array(n, sizeof *slices->first);
    slices->counts = mem_array(n, sizeof *slices->counts);
    if (!slices->keys || !slices->order || !slices->group || !slices->first ||
        !slices->counts)
        return error_nomem(err, n * sizeof *slices->keys, "a sort");
    return ASSAY_OK;
}

/* Where element k of slice i is in x. */
static size_t element_at(const struct slices *slices, int64_t i, int64_t k)
{
    return (size_t)((k / slices->inner * slices->n + i) * slices->inner +
                    k % slices->inner);
}

/* Groups equal slices, ordered by value. */
static void find_groups(struct slices *slices, const struct tensor *x)
{
    for (int64_t i = 0; i < slices->n; i++) {
        slices->order[i] = i;
        for (int64_t k = 0; k < slices->length; k++)
            slices->keys[i * slices->length + k] =
                sort_key(x, element_at(slices, i, k));
    }
    qsort_r(slices->order, (size_t)slices->n, sizeof *slices->order,
            unique_compare, slices);
    for (int64_t i = 0; i < slices->n; i++) {
        int64_t slice = slices->order[i];

        if (i == 0 || !is_equal(slices, slice, slices->order[i - 1]))
            slices->first[slices->n_groups++] = slice;
        slices->group[slice] = slices->n_groups - 1;
        slices->counts[slices->n_groups - 1]++;
    }
}

/* Reorders the groups by first occurrence. */
static void order_by_place(struct slices *slices)
{
    int64_t *number = slices->order; /* reused: the new number of each group */
    int64_t n = 0;

    for (int64_t i = 0; i < slices->n_groups; i++)
        number[i] = -1;
    for (int64_t i = 0; i < slices->n; i++) {
        int64_t old = slices->group[i];

        if (number[old] < 0)
            number[old] = n++;
        slices->group[i] = number[old];
    }
    memset(slices->counts, 0, (size_t)slices->n * sizeof *slices->counts);
    for (int64_t i = slices->n - 1; i >= 0; i--) {
        slices->first[slices->group[i]] = i;
        slices->counts[slices->group[i]]++;
    }
}

static enum assay_status write_values(const struct op_context *context,
                                      const struct select_attrs *attrs,
                                      const struct slices *slices,
                                      const struct tensor *x,
                                      struct tensor *out, struct error *err)
{
    struct slices made = *slices;
    struct shape shape = x->shape;
    size_t bytes = dtype_bytes(x->dtype);
    int axis = 0;
    enum assay_status st = ASSAY_OK;

    made.n = slices->n_groups;
    if (attrs->has_axis)
        st = axis_resolve(attrs->axis, shape.rank, &axis, err);
    else
        shape = shape_of(1, (int64_t)0);
    shape.dims[axis] = made.n;
    if (!st)
        st = tensor_new(context->pool, x->dtype, &shape, out, err);
    for (int64_t i = 0; !st && i < made.n; i++) {
        for (int64_t k = 0; k < slices->length; k++)
            memcpy((char *)tensor_data(out) + element_at(&made, i, k) * bytes,
                   (char *)tensor_data(x) +
                       element_at(slices, slices->first[i], k) * bytes,
                   bytes);
    }
    return st;
}

static enum assay_status
unique_write_outputs(const struct op_context *context, const struct node *node,
                     const struct slices *slices, const struct tensor *x,
                     struct tensor *outputs, struct error *err)
{
    const struct {
        const int64_t *values;
        int64_t n;
    } lists[] = {{slices->first, slices->n_groups},
                 {slices->group, slices->n},
                 {slices->counts, slices->n_groups}};
    enum assay_status st =
        write_values(context, node->attrs, slices, x, &outputs[0], err);

    for (size_t i = 1; !st && i < node->n_outputs; i++) {
        struct shape shape = shape_of(1, lists[i - 1].n);

        st = tensor_new(context->pool, DTYPE_I64, &shape, &outputs[i], err);
        if (!st)
            memcpy(tensor_data(&outputs[i]), lists[i - 1].values,
                   tensor_bytes(&outputs[i]));
    }
    return st;
}

static enum assay_status unique_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct select_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0];
    struct slices slices = {0};
    struct tensor wide;
    enum assay_status st =
        tensor_convert(context->pool, x, dtype_wide(x->dtype), &wide, err);

    if (inputs[0]->dtype == DTYPE_SEQUENCE)
        return rule_undefined(node, DTYPE_SEQUENCE, err);
    if (!st)
        st = make_slices(attrs, x, &slices, err);
    if (!st) {
        find_groups(&slices, &wide);
        if (!attrs->is_sorted)
            order_by_place(&slices);
        st = unique_write_outputs(context, node, &slices, x, outputs, err);
    }
    unique_release(&slices);
    tensor_release(&wide);
    return st;
}

const struct op_class op_unique = {
    .name = "Unique",
    OP_ATTRS(select),
    OP_TAKES(1, 1),
    OP_MAKES(1, 4),
    .forward = unique_forward,
};
