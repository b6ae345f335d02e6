/* formats/onnx/onnx_steps.c - see onnx_steps_internal.h. */
#include "formats/onnx/onnx_steps_internal.h"

#include "ops/math/cast.h"
#include "ops/math/reduce.h"
#include "ops/movement/concat.h"
#include "ops/movement/shape_views.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"

#include <string.h>

uint32_t onnx_step_one(struct onnx_call *call, const struct op_class *op,
                       uint32_t x)
{
    return onnx_step(call, op, NULL, &x, 1);
}

uint32_t onnx_step_pair(struct onnx_call *call, const struct op_class *op,
                        uint32_t a, uint32_t b)
{
    return onnx_step(call, op, NULL, (uint32_t[]){a, b}, 2);
}

uint32_t onnx_step_scalar(struct onnx_call *call, const struct op_class *op,
                          uint32_t a, double b)
{
    return onnx_step_pair(call, op, a,
                          onnx_new_scalar(call, onnx_step_type(call, a), b));
}

uint32_t onnx_step_where(struct onnx_call *call, uint32_t condition, uint32_t a,
                         uint32_t b)
{
    return onnx_step(call, &op_where, NULL, (uint32_t[]){condition, a, b}, 3);
}

uint32_t onnx_step_cast(struct onnx_call *call, uint32_t x, enum dtype dtype)
{
    struct cast_attrs attrs = {.dtype = dtype};

    return onnx_step(call, &op_cast, &attrs, &x, 1);
}

uint32_t onnx_step_reshape(struct onnx_call *call, uint32_t x,
                           const int64_t *dims, size_t n)
{
    struct shape_view_attrs attrs = {0};
    uint32_t inputs[] = {x, onnx_new_i64s(call, dims, n)};

    return onnx_step(call, &op_reshape, &attrs, inputs, 2);
}

uint32_t onnx_step_transpose(struct onnx_call *call, uint32_t x,
                             const int64_t *order, size_t n)
{
    struct transpose_attrs attrs = {.rank = (int)n};

    memcpy(attrs.order, order, n * sizeof *order);
    return onnx_step(call, &op_transpose, &attrs, &x, 1);
}

uint32_t onnx_step_unsqueeze(struct onnx_call *call, uint32_t x, int64_t axis)
{
    return onnx_step_pair(call, &op_unsqueeze, x,
                          onnx_new_i64s(call, &axis, 1));
}

uint32_t onnx_step_slice(struct onnx_call *call, uint32_t x, int64_t axis,
                         int64_t first, int64_t end, int64_t step)
{
    uint32_t inputs[] = {
        x, onnx_new_i64s(call, &first, 1), onnx_new_i64s(call, &end, 1),
        onnx_new_i64s(call, &axis, 1), onnx_new_i64s(call, &step, 1)};

    return onnx_step(call, &op_slice, NULL, inputs, 5);
}

uint32_t onnx_step_concat(struct onnx_call *call, uint32_t a, uint32_t b,
                          int axis)
{
    struct concat_attrs attrs = {.axis = axis};

    return onnx_step(call, &op_concat, &attrs, (uint32_t[]){a, b}, 2);
}

uint32_t onnx_step_reduce(struct onnx_call *call, const struct op_class *op,
                          uint32_t x, int64_t axis)
{
    struct reduce_attrs attrs = {.keeps_dims = true};
    uint32_t inputs[] = {x, onnx_new_i64s(call, &axis, 1)};

    return onnx_step(call, op, &attrs, inputs, 2);
}

enum dtype onnx_step_type(const struct onnx_call *call, uint32_t value)
{
    const struct tensor *known = onnx_known(call, value);

    return known ? known->dtype : DTYPE_F32;
}

int64_t onnx_step_size(const struct onnx_call *call, uint32_t value, int axis)
{
    const struct tensor *known = onnx_known(call, value);

    if (!known)
        return -1;
    axis = axis < 0 ? axis + known->shape.rank : axis;
    return axis >= 0 && axis < known->shape.rank ? known->shape.dims[axis] : -1;
}
