/* ops/math/cast.c - see cast.h. */
#include "ops/math/cast.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"

enum { parallel_elements = 1 << 16 };

static enum assay_status cast_infer(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct cast_attrs *attrs = node->attrs;

    (void)err;
    rule_set(&outputs[0], node->n_inputs > 1 ? inputs[1]->dtype : attrs->dtype,
             &inputs[0]->shape);
    return ASSAY_OK;
}

/* Like convert_elements(), the way that the attributes ask for. */
static void cast_small(const struct cast_attrs *attrs, enum dtype from_dtype,
                       const char *from, enum dtype to_dtype, uint8_t *to,
                       size_t n)
{
    const struct small_float *type = dtype_small_float(to_dtype);

    for (size_t i = 0; i < n; i++) {
        float value;

        convert_elements(from_dtype, from + i * dtype_bytes(from_dtype),
                         DTYPE_F32, &value, 1);
        to[i] =
            type ? small_float_write(type, value, !attrs->overflows)
                 : scale_float_write(value, !attrs->overflows, attrs->rounding);
    }
}

static enum assay_status cast_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0], *y = &outputs[0];
    size_t n = tensor_elements(x);
    size_t parts = n < parallel_elements ? 1 : (size_t)op_threads(context);
    const char *from = tensor_data(x);
    const struct cast_attrs *attrs = node->attrs;
    bool is_special = (attrs->overflows && dtype_small_float(y->dtype)) ||
                      (y->dtype == DTYPE_F8E8M0 &&
                       (attrs->overflows || attrs->rounding != SCALE_UP));
    char *to = tensor_data(y);

    (void)err;
#pragma omp parallel for num_threads((int)parts) if (parts > 1)
    for (size_t i = 0; i < parts; i++) {
        size_t first = n * i / parts, last = n * (i + 1) / parts;

        if (is_special)
            cast_small(attrs, x->dtype, from + first * dtype_bytes(x->dtype),
                       y->dtype, (uint8_t *)to + first, last - first);
        else
            convert_elements(x->dtype, from + first * dtype_bytes(x->dtype),
                             y->dtype, to + first * dtype_bytes(y->dtype),
                             last - first);
    }
    return ASSAY_OK;
}

static int held_axis(int64_t axis, int rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis < 0 ? 0 : axis > rank ? rank : (int)axis;
}

static enum assay_status shape_of_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct shape_of_attrs *attrs = node->attrs;
    int rank = inputs[0]->shape.rank;
    int n = held_axis(attrs->end, rank) - held_axis(attrs->start, rank);
    struct shape shape = shape_of(1, (int64_t)(n > 0 ? n : 0));

    (void)err;
    rule_set(&outputs[0], DTYPE_I64, &shape);
    return ASSAY_OK;
}

static enum assay_status shape_of_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct shape_of_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    int start = held_axis(attrs->start, x->rank);

    (void)context, (void)err;
    for (int64_t i = 0; i < outputs[0].shape.dims[0]; i++)
        tensor_i64(&outputs[0])[i] = x->dims[start + i];
    return ASSAY_OK;
}

static enum assay_status size_infer(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    struct shape scalar = {0};

    (void)node, (void)inputs, (void)err;
    rule_set(&outputs[0], DTYPE_I64, &scalar);
    return ASSAY_OK;
}

static enum assay_status size_forward(const struct op_context *context,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    (void)context, (void)node, (void)err;
    *tensor_i64(&outputs[0]) = (int64_t)tensor_elements(inputs[0]);
    return ASSAY_OK;
}

/* Both are float32; gradients of other types are never asked for. */
static enum assay_status cast_backward(const struct op_context *context,
                                       const struct node *node,
                                       const struct op_backward *pass,
                                       struct error *err)
{
    (void)node, (void)err;
    if (op_wants(pass, 0) && pass->dy[0])
        gradient_scale(context, 1, pass->dy[0], &pass->dx[0]);
    return ASSAY_OK;
}

/* Only the shape of the input is read. */
static void count_no_data(const struct node *node,
                          const struct tensor *const *inputs,
                          const struct tensor *outputs, struct cost *cost)
{
    (void)node, (void)outputs;
    cost_touches(cost, inputs[0], 0);
}

static void cast_to_onnx(struct onnx_sink *to)
{
    const struct cast_attrs *attrs = to->node->attrs;

    if (to->node->n_inputs > 1) {
        onnx_refuse(to, "its type comes from another value");
        return;
    }
    if (attrs->dtype > DTYPE_BOOL) {
        onnx_refuse(to, "its type needs a later opset");
        return;
    }
    to->class->attr_dtype(to, "to", attrs->dtype);
    onnx_put_node(to, "Cast", 1);
}

static void shape_of_to_onnx(struct onnx_sink *to)
{
    const struct shape_of_attrs *attrs = to->node->attrs;

    if (attrs->start || attrs->end != INT64_MAX) {
        onnx_needs_opset(to, 15);
        onnx_attr_int(to, "start", attrs->start);
        onnx_attr_int(to, "end", attrs->end);
    }
    onnx_put_node(to, "Shape", 1);
}

static const char *const scale_roundings[] = {"up", "down", "nearest", NULL};
ATTR_FIELDS(cast, FIELD_DTYPE(cast_attrs, dtype),
            FIELD_FLAG(cast_attrs, overflows),
            FIELD_WORD(cast_attrs, rounding, scale_roundings));
ATTR_FIELDS(shape_of, FIELD_ANY(shape_of_attrs, start),
            FIELD_ANY(shape_of_attrs, end));

#define CLASS(symbol, text, bytes, most, is_of_shapes, passes, ...)            \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = bytes,                                                  \
        OP_TAKES(1, most),                                                     \
        OP_MAKES(1, 1),                                                        \
        .infer = symbol##_infer,                                               \
        .forward = symbol##_forward,                                           \
        .cost = (is_of_shapes) ? count_no_data : NULL,                         \
        .backward = passes,                                                    \
        .reads_shapes = is_of_shapes,                                          \
        __VA_ARGS__,                                                           \
    };
CLASS(cast, "Cast", sizeof(struct cast_attrs), 2, false, cast_backward,
      .fields = cast_fields, .channels = channel_pass, .to_onnx = cast_to_onnx)
CLASS(shape_of, "Shape", sizeof(struct shape_of_attrs), 1, true, NULL,
      .fields = shape_of_fields, .channels = channel_none,
      .to_onnx = shape_of_to_onnx)
CLASS(size, "Size", 0, 1, true, NULL, .channels = channel_none,
      .to_onnx = onnx_put_named)
