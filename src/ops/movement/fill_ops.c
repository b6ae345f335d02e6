/* ops/movement/fill_ops.c - see fill_ops.h. */
#include "ops/movement/fill_ops.h"

#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"

#include <math.h>
#include <string.h>

/* ---- ConstantOfShape -------------------------------------------------- */

static enum assay_status
constant_of_shape_infer(const struct node *node,
                        const struct tensor *const *inputs,
                        struct tensor *outputs, struct error *err)
{
    struct shape shape;
    enum assay_status st = shape_read(inputs[0], &shape, err);

    (void)node;
    if (!st)
        rule_set(&outputs[0], inputs[1]->dtype, &shape);
    return st;
}

static enum assay_status
constant_of_shape_forward(const struct op_context *context,
                          const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    (void)context, (void)node;
    if (tensor_elements(inputs[1]) != 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%zu values to fill with; expected 1",
                         tensor_elements(inputs[1]));
    strided_fill(&outputs[0], tensor_data(inputs[1]));
    return ASSAY_OK;
}

/* ---- EyeLike ---------------------------------------------------------- */

static enum assay_status eye_like_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct eye_like_attrs *attrs = node->attrs;

    rule_set(&outputs[0], attrs->has_dtype ? attrs->dtype : inputs[0]->dtype,
             &inputs[0]->shape);
    return rule_rank(inputs, 0, 2, err);
}

static enum assay_status eye_like_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct eye_like_attrs *attrs = node->attrs;
    int64_t rows = inputs[0]->shape.dims[0], cols = inputs[0]->shape.dims[1];

    (void)context, (void)err;
    memset(tensor_data(&outputs[0]), 0, tensor_bytes(&outputs[0]));
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = i + attrs->diagonal;

        if (at >= 0 && at < cols)
            number_put(&outputs[0], (size_t)(i * cols + at), 1);
    }
    return ASSAY_OK;
}

/* ---- Range ------------------------------------------------------------ */

static enum assay_status range_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    double bounds[3], n;
    struct shape shape;

    (void)node;
    for (size_t i = 0; i < 3; i++) {
        enum assay_status st = rule_dtype(inputs, i, inputs[0]->dtype, err);

        if (!st)
            st = setting_check(inputs[i], err);
        if (!st && tensor_elements(inputs[i]) != 1)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "input %zu has %zu values; expected 1", i,
                           tensor_elements(inputs[i]));
        if (st)
            return st;
        bounds[i] = number_at(inputs[i], 0);
    }
    n = ceil((bounds[1] - bounds[0]) / bounds[2]);
    if (isnan(n) || n > 0x1p62)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%g to %g in steps of %g is not a range", bounds[0],
                         bounds[1], bounds[2]);
    shape = shape_of(1, (int64_t)(n > 0 ? n : 0));
    rule_set(&outputs[0], inputs[0]->dtype, &shape);
    return ASSAY_OK;
}

static enum assay_status range_kernel(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    size_t n = tensor_elements(&outputs[0]);
    const void *start = tensor_data(inputs[0]), *delta = tensor_data(inputs[2]);
    void *y = tensor_data(&outputs[0]);

#define COUNT(type)                                                            \
    for (size_t i = 0; i < n; i++)                                             \
        ((type *)y)[i] = *(const type *)start + (type)i * *(const type *)delta;

    (void)context, (void)node, (void)err;
    if (outputs[0].dtype == DTYPE_F32)
        COUNT(float)
    else if (outputs[0].dtype == DTYPE_F64)
        COUNT(double)
    else
        COUNT(int64_t)
#undef COUNT
    return ASSAY_OK;
}

WIDEN_FORWARD(range_forward, range_kernel)

/* ---- OneHot ----------------------------------------------------------- */

enum one_hot_input { ONE_HOT_INDICES, ONE_HOT_DEPTH, ONE_HOT_VALUES };

static enum assay_status one_hot_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct one_hot_attrs *attrs = node->attrs;
    const struct shape *indices = &inputs[ONE_HOT_INDICES]->shape;
    const struct tensor *depth = inputs[ONE_HOT_DEPTH];
    struct shape y = {.rank = indices->rank + 1};
    int axis, from = 0;
    enum assay_status st = axis_resolve(attrs->axis, y.rank, &axis, err);

    if (!st)
        st = setting_check(depth, err);
    if (!st && tensor_elements(depth) != 1)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu depths; expected 1",
                       tensor_elements(depth));
    if (!st)
        st = rank_check((size_t)y.rank, err);
    if (!st && tensor_elements(inputs[ONE_HOT_VALUES]) != 2)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%zu values for off and on; expected 2",
                       tensor_elements(inputs[ONE_HOT_VALUES]));
    if (st)
        return st;
    for (int i = 0; i < y.rank; i++)
        y.dims[i] = i == axis ? int_at(depth, 0) : indices->dims[from++];
    rule_set(&outputs[0], inputs[ONE_HOT_VALUES]->dtype, &y);
    return ASSAY_OK;
}

static enum assay_status one_hot_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct one_hot_attrs *attrs = node->attrs;
    const struct tensor *indices = inputs[ONE_HOT_INDICES];
    const struct shape *y = &outputs[0].shape;
    size_t bytes = dtype_bytes(outputs[0].dtype);
    const char *values = tensor_data(inputs[ONE_HOT_VALUES]);
    char *write = tensor_data(&outputs[0]);
    int64_t depth, inner;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, y->rank, &axis, err);

    (void)context;
    if (st)
        return st;
    depth = y->dims[axis];
    inner = shape_span(y, axis + 1, y->rank);
    strided_fill(&outputs[0], values);
    for (int64_t i = 0; i < (int64_t)tensor_elements(indices); i++) {
        int64_t at = int_at(indices, (size_t)i);

        at = at < 0 ? at + depth : at;
        if (at >= 0 && at < depth)
            memcpy(write +
                       (size_t)((i / inner * depth + at) * inner + i % inner) *
                           bytes,
                   values + bytes, bytes);
    }
    return ASSAY_OK;
}

/* ---- Trilu ------------------------------------------------------------ */

static enum assay_status trilu_infer(const struct node *node,
                                     const struct tensor *const *inputs,
                                     struct tensor *outputs, struct error *err)
{
    (void)node;
    rule_set(&outputs[0], inputs[0]->dtype, &inputs[0]->shape);
    return inputs[0]->shape.rank < 2 ? rule_rank(inputs, 0, 2, err) : ASSAY_OK;
}

static enum assay_status trilu_forward(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct trilu_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    int64_t rows = x->dims[x->rank - 2], cols = x->dims[x->rank - 1], diagonal;
    int64_t n = shape_span(x, 0, x->rank - 1);
    size_t bytes = dtype_bytes(inputs[0]->dtype);
    const char *read = tensor_data(inputs[0]);
    char *write = tensor_data(&outputs[0]);
    enum assay_status st =
        int_read(op_input(node, inputs, 1), 0, &diagonal, err);

    (void)context;
    if (st)
        return st;
    for (int64_t i = 0; i < n; i++) {
        /* The first column above the diagonal, or on it. */
        int64_t edge = i % rows + diagonal + (attrs->is_upper ? 0 : 1);
        size_t left, all = (size_t)cols * bytes;

        edge = edge < 0 ? 0 : edge > cols ? cols : edge;
        left = (size_t)edge * bytes;
        memset(write, 0, all);
        if (attrs->is_upper)
            memcpy(write + left, read + left, all - left);
        else
            memcpy(write, read, left);
        read += all;
        write += all;
    }
    return ASSAY_OK;
}

/* As Expand, because our value is an input and ONNX's is an attribute. */
static void constant_of_shape_to_onnx(struct onnx_sink *to)
{
    const char *y = onnx_name(to, to->node->outputs[0]);
    const char *inputs[2] = {onnx_name(to, to->node->inputs[1]),
                             onnx_name(to, to->node->inputs[0])};

    onnx_put_op(to, "Expand", inputs, 2, &y, 1);
}

#define CLASS(symbol, text, bytes, least, most, numbers, written)              \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = bytes,                                                  \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(1, 1),                                                        \
        .infer = symbol##_infer,                                               \
        .host_inputs = numbers,                                                \
        .forward = symbol##_forward,                                           \
        .to_onnx = written,                                                    \
    };
CLASS(constant_of_shape, "ConstantOfShape", 0, 2, 2, OP_INPUT(0),
      constant_of_shape_to_onnx)
CLASS(eye_like, "EyeLike", sizeof(struct eye_like_attrs), 1, 1, 0, NULL)
CLASS(range, "Range", 0, 3, 3, OP_INPUT(0) | OP_INPUT(1) | OP_INPUT(2),
      onnx_put_named)
CLASS(one_hot, "OneHot", sizeof(struct one_hot_attrs), 3, 3,
      OP_INPUT(ONE_HOT_DEPTH), NULL)
CLASS(trilu, "Trilu", sizeof(struct trilu_attrs), 1, 2, OP_INPUT(1), NULL)
