/* ops/int_list.c - see int_list_internal.h. */
#include "ops/int_list_internal.h"

#include "tensor/convert.h"

enum assay_status int_list_read(const struct tensor *tensor,
                                struct int_list *list, struct error *err)
{
    char text[64];

    *list = (struct int_list){0};
    if (!tensor)
        return ASSAY_OK;
    if (setting_check(tensor, err))
        return ASSAY_UNSUPPORTED;
    if (tensor->shape.rank > 1 || dtype_is_float(tensor->dtype) ||
        tensor_elements(tensor) > INT_LIST_MAX)
        return error_set(err, ASSAY_BAD_INPUT,
                         "expected a list of integers, not %s of %s",
                         shape_text(&tensor->shape, text, sizeof text),
                         dtype_name(tensor->dtype));
    list->n = tensor_elements(tensor);
    convert_elements(tensor->dtype, tensor_data(tensor), DTYPE_I64, list->of,
                     list->n);
    return ASSAY_OK;
}

enum assay_status shape_read(const struct tensor *tensor, struct shape *shape,
                             struct error *err)
{
    struct int_list list;
    enum assay_status st = int_list_read(tensor, &list, err);

    *shape = (struct shape){0};
    if (!st)
        st = rank_check(list.n, err);
    if (st)
        return st;
    shape->rank = (int)list.n;
    for (size_t i = 0; i < list.n; i++)
        shape->dims[i] = list.of[i];
    return ASSAY_OK;
}

enum assay_status int_read(const struct tensor *tensor, int64_t fallback,
                           int64_t *value, struct error *err)
{
    struct int_list list;
    enum assay_status st = int_list_read(tensor, &list, err);

    *value = fallback;
    if (st || !tensor)
        return st;
    if (list.n != 1)
        return error_set(err, ASSAY_BAD_INPUT, "expected one integer, not %zu",
                         list.n);
    *value = list.of[0];
    return ASSAY_OK;
}

enum assay_status setting_check(const struct tensor *tensor, struct error *err)
{
    if (tensor->buffer)
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "the shape depends on a computed value");
}

enum assay_status rank_check(size_t rank, struct error *err)
{
    if (rank <= SHAPE_MAX_RANK)
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "%zu dimensions; at most %d are supported", rank,
                     SHAPE_MAX_RANK);
}

static char *element_of(const struct tensor *tensor, size_t i)
{
    return (char *)tensor_data(tensor) + i * dtype_bytes(tensor->dtype);
}

int64_t int_at(const struct tensor *tensor, size_t i)
{
    int64_t value;

    convert_elements(tensor->dtype, element_of(tensor, i), DTYPE_I64, &value,
                     1);
    return value;
}

double number_at(const struct tensor *tensor, size_t i)
{
    double value;

    convert_elements(tensor->dtype, element_of(tensor, i), DTYPE_F64, &value,
                     1);
    return value;
}

void number_put(const struct tensor *tensor, size_t i, double value)
{
    convert_elements(DTYPE_F64, &value, tensor->dtype, element_of(tensor, i),
                     1);
}

enum assay_status axis_resolve(int64_t axis, int rank, int *resolved,
                               struct error *err)
{
    *resolved = 0;
    if (axis < -rank || axis >= rank)
        return error_set(err, ASSAY_BAD_INPUT,
                         "axis %lld does not exist in %d dimensions",
                         (long long)axis, rank);
    *resolved = (int)(axis < 0 ? axis + rank : axis);
    return ASSAY_OK;
}

enum assay_status axes_resolve(const struct int_list *list, int rank,
                               unsigned *axes, struct error *err)
{
    *axes = 0;
    for (size_t i = 0; i < list->n; i++) {
        int axis;
        enum assay_status st = axis_resolve(list->of[i], rank, &axis, err);

        if (!st && *axes >> axis & 1)
            st = error_set(err, ASSAY_BAD_INPUT, "axis %d is listed twice",
                           axis);
        if (st)
            return st;
        *axes |= 1U << axis;
    }
    return ASSAY_OK;
}

enum assay_status indices_check(const struct tensor *const *inputs,
                                size_t input, struct error *err)
{
    if (dtype_wide(inputs[input]->dtype) == DTYPE_I64)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "input %zu is %s; indices must be signed integers", input,
                     dtype_name(inputs[input]->dtype));
}

int64_t shape_span(const struct shape *shape, int first, int last)
{
    int64_t n = 1;

    for (int i = first; i < last; i++)
        n *= shape->dims[i];
    return n;
}
