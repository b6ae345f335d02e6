/* ops/product/quantize.c - QuantizeLinear, DequantizeLinear and
 * DynamicQuantizeLinear, see quantize.h. */
#include "ops/product/quantize.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/product/quantized_internal.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"

#include <math.h>

enum { row_length = 1 << 14 };

enum quantize_input { QUANTIZE_X, QUANTIZE_SCALE, QUANTIZE_ZERO };

static const struct tensor *zero_of(const struct node *node,
                                    const struct tensor *const *inputs)
{
    return node->n_inputs > QUANTIZE_ZERO ? inputs[QUANTIZE_ZERO] : NULL;
}

/* How many elements share a scale, and how many scales follow each other. */
static enum assay_status get_runs(const struct node *node,
                                  const struct tensor *const *inputs,
                                  size_t *run, size_t *scales,
                                  struct error *err)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[QUANTIZE_X]->shape;
    const struct tensor *zero = zero_of(node, inputs);
    int axis;
    enum assay_status st;

    *scales = tensor_elements(inputs[QUANTIZE_SCALE]);
    *run = 1;
    if (zero && tensor_elements(zero) != *scales)
        return error_set(err, ASSAY_BAD_INPUT, "%zu scales and %zu zeros",
                         *scales, tensor_elements(zero));
    if (*scales == 1)
        return ASSAY_OK;
    st = axis_resolve(attrs->axis, x->rank, &axis, err);
    if (!st && x->dims[axis] != (int64_t)*scales)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu scales for %lld of axis %d",
                       *scales, (long long)x->dims[axis], axis);
    if (!st)
        *run = (size_t)shape_span(x, axis + 1, x->rank);
    return st;
}

static enum assay_status infer_quantize(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct tensor *zero = zero_of(node, inputs);

    rule_set(&outputs[0], zero ? zero->dtype : DTYPE_U8,
             &inputs[QUANTIZE_X]->shape);
    return rule_dtype(inputs, QUANTIZE_SCALE, DTYPE_F32, err);
}

/* n numbers that share a scale. */
#define QUANTIZE_ROW(name, type, low, high)                                    \
    VARIANTS(void, name,                                                       \
             (const float *x, type *y, size_t n, float scale, float zero),     \
             (x, y, n, scale, zero))                                           \
    {                                                                          \
        for (size_t i = 0; i < n; i++) {                                       \
            float value = rintf(x[i] / scale) + zero;                          \
                                                                               \
            value = value > low ? value : low; /* of a NaN too */              \
            y[i] = (type)(int)(value < high ? value : high);                   \
        }                                                                      \
    }
QUANTIZE_ROW(quantize_u8, uint8_t, 0, 255)
QUANTIZE_ROW(quantize_i8, int8_t, -128, 127)

#define DEQUANTIZE_ROW(name, type)                                             \
    VARIANTS(void, name,                                                       \
             (const type *x, float *y, size_t n, float scale, int zero),       \
             (x, y, n, scale, zero))                                           \
    {                                                                          \
        for (size_t i = 0; i < n; i++)                                         \
            y[i] = (float)(x[i] - zero) * scale;                               \
    }
DEQUANTIZE_ROW(dequantize_u8, uint8_t)
DEQUANTIZE_ROW(dequantize_i8, int8_t)

/* Rows that share a scale, of what the tensors of a node hold. */
struct rows {
    size_t length, n, n_scales;
    const float *scales;
    const struct tensor *zeros; /* or NULL */
};

static enum assay_status quantize_get_rows(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct rows *rows, struct error *err)
{
    size_t n = tensor_elements(inputs[QUANTIZE_X]);
    enum assay_status st =
        get_runs(node, inputs, &rows->length, &rows->n_scales, err);

    if (st)
        return st;
    if (rows->n_scales == 1) /* in pieces, for the threads */
        rows->length = n < row_length ? n : row_length;
    rows->n = rows->length ? (n + rows->length - 1) / rows->length : 0;
    rows->scales = tensor_f32(inputs[QUANTIZE_SCALE]);
    rows->zeros = zero_of(node, inputs);
    return ASSAY_OK;
}

static int64_t row_zero(const struct rows *rows, size_t i)
{
    return rows->zeros ? int_at(rows->zeros, i % rows->n_scales) : 0;
}

static enum assay_status forward_quantize(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    size_t n = tensor_elements(inputs[QUANTIZE_X]);
    struct tensor x;
    struct rows rows;
    enum assay_status st = quantize_get_rows(node, inputs, &rows, err);

    if (!st && outputs[0].dtype != DTYPE_U8 && outputs[0].dtype != DTYPE_I8)
        st = error_set(err, ASSAY_UNSUPPORTED, "quantising to %s",
                       dtype_name(outputs[0].dtype));
    if (st)
        return st;
    if (inputs[QUANTIZE_X]->dtype == DTYPE_F32)
        x = tensor_share(inputs[QUANTIZE_X]);
    else
        st = tensor_convert(context->pool, inputs[QUANTIZE_X], DTYPE_F32, &x,
                            err);
    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context)) if (n > row_length)
    for (size_t i = 0; i < rows.n; i++) {
        size_t at = i * rows.length;
        size_t length = n - at < rows.length ? n - at : rows.length;
        float scale = rows.scales[i % rows.n_scales];
        float zero = (float)row_zero(&rows, i);

        if (outputs[0].dtype == DTYPE_U8)
            quantize_u8(tensor_f32(&x) + at,
                        (uint8_t *)tensor_data(&outputs[0]) + at, length, scale,
                        zero);
        else
            quantize_i8(tensor_f32(&x) + at,
                        (int8_t *)tensor_data(&outputs[0]) + at, length, scale,
                        zero);
    }
    tensor_release(&x);
    return ASSAY_OK;
}

static enum assay_status infer_dequantize(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    (void)node;
    rule_set(&outputs[0], DTYPE_F32, &inputs[QUANTIZE_X]->shape);
    return rule_dtype(inputs, QUANTIZE_SCALE, DTYPE_F32, err);
}

static enum assay_status forward_dequantize(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct tensor *x = inputs[QUANTIZE_X];
    size_t n = tensor_elements(x);
    struct rows rows;
    enum assay_status st = quantize_get_rows(node, inputs, &rows, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context)) if (n > row_length)
    for (size_t i = 0; i < rows.n; i++) {
        size_t at = i * rows.length;
        size_t length = n - at < rows.length ? n - at : rows.length;
        float scale = rows.scales[i % rows.n_scales];
        float *y = tensor_f32(&outputs[0]) + at;
        int64_t zero = row_zero(&rows, i);

        if (x->dtype == DTYPE_U8)
            dequantize_u8((const uint8_t *)tensor_data(x) + at, y, length,
                          scale, (int)zero);
        else if (x->dtype == DTYPE_I8)
            dequantize_i8((const int8_t *)tensor_data(x) + at, y, length, scale,
                          (int)zero);
        else
            for (size_t k = 0; k < length; k++)
                y[k] = (float)(int_at(x, at + k) - zero) * scale;
    }
    return ASSAY_OK;
}

static enum assay_status infer_dynamic(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    static const enum dtype dtypes[] = {DTYPE_U8, DTYPE_F32, DTYPE_U8};
    struct shape scalar = {0};

    for (size_t i = 0; i < node->n_outputs; i++)
        rule_set(&outputs[i], dtypes[i], i ? &scalar : &inputs[0]->shape);
    return rule_dtype(inputs, 0, DTYPE_F32, err);
}

/* The range of x, widened to hold 0, is spread over 0 to 255. */
static enum assay_status forward_dynamic(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const float *x = tensor_f32(inputs[0]);
    size_t n = tensor_elements(inputs[0]);
    float low = 0, high = 0, scale, zero;

    (void)context, (void)node, (void)err;
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    scale = (high - low) / 255;
    zero = scale > 0 ? rintf(-low / scale) : 0;
    zero = zero < 0 ? 0 : zero > 255 ? 255 : zero;
    for (size_t i = 0; i < n; i++)
        quantized_store(DTYPE_U8, scale > 0 ? (double)(x[i] / scale) : 0,
                        (int64_t)zero, (uint8_t *)tensor_data(&outputs[0]) + i);
    *tensor_f32(&outputs[1]) = scale;
    *(uint8_t *)tensor_data(&outputs[2]) = (uint8_t)zero;
    return ASSAY_OK;
}

/* Weights that are kept as small numbers: atoms of their own, which the layer
 * behind joins with its channels. */
static void quantize_give_atoms(struct channels *channels, uint32_t weight)
{
    const struct shape *shape = channels_shape(channels, weight);

    for (int i = 0; i < shape->rank && i < 2; i++) {
        if (!channels_of(channels, weight, i).n)
            channels_set(channels, weight, i,
                         channels_new(channels, (size_t)shape->dims[i]));
    }
}

/* Scales and zero points are one for all, or one for each place along an
 * axis. */
static void quantize_channels(struct channels *channels,
                              const struct node *node)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct shape *x = channels_shape(channels, node->inputs[0]);
    int axis;

    if (!x) {
        channels_fix_inputs(channels, node);
        return;
    }
    if (channels_is_leaf(channels, node->inputs[0]))
        quantize_give_atoms(channels, node->inputs[0]);
    axis = channels_axis(attrs->axis, x->rank);
    for (size_t i = 1; i < node->n_inputs; i++) {
        const struct shape *scale = channels_shape(channels, node->inputs[i]);

        if (scale && scale->rank == 1 && scale->dims[0] != 1)
            channels_match(channels, node->inputs[i], 0,
                           channels_of(channels, node->inputs[0], axis));
    }
    channels_pass(channels, node->inputs[0], node->outputs[0]);
}

static void quantize_to_onnx(struct onnx_sink *to)
{
    const struct quantize_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, to->node->op->name, ONNX_ALL_INPUTS);
}

ATTR_FIELDS(quantize, FIELD_AXIS(quantize_attrs, axis));

#define SELF                                                                   \
    .fields = quantize_fields, .channels = quantize_channels,                  \
    .to_onnx = quantize_to_onnx
#define CLASS(symbol, text, kind, least, most, made, ...)                      \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct quantize_attrs),                          \
        .min_inputs = least,                                                   \
        .max_inputs = most,                                                    \
        .min_outputs = made,                                                   \
        .max_outputs = made,                                                   \
        .infer = infer_##kind,                                                 \
        .forward = forward_##kind,                                             \
        __VA_ARGS__,                                                           \
    };
CLASS(quantize_linear, "QuantizeLinear", quantize, 2, 3, 1, SELF)
CLASS(dequantize_linear, "DequantizeLinear", dequantize, 2, 3, 1, SELF)
CLASS(dynamic_quantize_linear, "DynamicQuantizeLinear", dynamic, 1, 1, 3,
      .fields = NULL)
