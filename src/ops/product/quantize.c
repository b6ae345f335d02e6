/* ops/product/quantize.c - QuantizeLinear, DequantizeLinear and
 * DynamicQuantizeLinear, see quantize.h. */
#include "ops/product/quantize.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_lanes.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"
#include "tensor/small_float.h"

#include <math.h>

enum { row_length = 1 << 14 };

enum quantize_input { QUANTIZE_X, QUANTIZE_SCALE, QUANTIZE_ZERO };

/* How many consecutive elements share a scale, and how many scales there are.
 */
static enum assay_status get_runs(const struct node *node,
                                  const struct tensor *const *inputs,
                                  size_t *run, size_t *scales,
                                  struct error *err)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[QUANTIZE_X]->shape;
    const struct tensor *zero = op_input(node, inputs, QUANTIZE_ZERO);
    int axis;
    enum assay_status st;

    *scales = tensor_elements(inputs[QUANTIZE_SCALE]);
    *run = 1;
    if (zero && tensor_elements(zero) != *scales)
        return error_set(err, ASSAY_BAD_INPUT, "%zu scales, but %zu zeros",
                         *scales, tensor_elements(zero));
    if (*scales == 1)
        return ASSAY_OK;
    st = axis_resolve(attrs->axis, x->rank, &axis, err);
    if (!st && x->dims[axis] != (int64_t)*scales)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%zu scales for %lld elements of axis %d", *scales,
                       (long long)x->dims[axis], axis);
    if (!st)
        *run = (size_t)shape_span(x, axis + 1, x->rank);
    return st;
}

static enum assay_status
quantize_check_scale(const struct tensor *const *inputs, struct error *err)
{
    enum dtype dtype = inputs[QUANTIZE_SCALE]->dtype;

    return dtype_is_float(dtype)
               ? ASSAY_OK
               : error_set(err, ASSAY_BAD_INPUT, "the scale is %s",
                           dtype_name(dtype));
}

static enum assay_status quantize_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct tensor *zero = op_input(node, inputs, QUANTIZE_ZERO);

    rule_set(&outputs[0],
             zero               ? zero->dtype
             : attrs->has_dtype ? attrs->dtype
                                : DTYPE_U8,
             &inputs[QUANTIZE_X]->shape);
    return quantize_check_scale(inputs, err);
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
            value = value > low ? value : low; /* low for a NaN */             \
            y[i] = (type)(int)(value < high ? value : high);                   \
        }                                                                      \
    }
QUANTIZE_ROW(quantize_u8, uint8_t, 0, 255)
QUANTIZE_ROW(quantize_i8, int8_t, -128, 127)
QUANTIZE_ROW(quantize_u16, uint16_t, 0, 65535)
QUANTIZE_ROW(quantize_i16, int16_t, -32768, 32767)

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
DEQUANTIZE_ROW(dequantize_u16, uint16_t)
DEQUANTIZE_ROW(dequantize_i16, int16_t)

void quantize_row(enum dtype dtype, const float *x, void *y, size_t n,
                  float scale, int zero)
{
    if (dtype == DTYPE_U8)
        quantize_u8(x, y, n, scale, (float)zero);
    else if (dtype == DTYPE_I8)
        quantize_i8(x, y, n, scale, (float)zero);
    else if (dtype == DTYPE_U16)
        quantize_u16(x, y, n, scale, (float)zero);
    else
        quantize_i16(x, y, n, scale, (float)zero);
}

void dequantize_row(enum dtype dtype, const void *x, float *y, size_t n,
                    float scale, int zero)
{
    if (dtype == DTYPE_U8)
        dequantize_u8(x, y, n, scale, zero);
    else if (dtype == DTYPE_I8)
        dequantize_i8(x, y, n, scale, zero);
    else if (dtype == DTYPE_U16)
        dequantize_u16(x, y, n, scale, zero);
    else
        dequantize_i16(x, y, n, scale, zero);
}

/* The rows of a node's tensors, each with one scale. */
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
    if (rows->n_scales == 1) /* cut into rows for the threads */
        rows->length = n < row_length ? n : row_length;
    rows->n = rows->length ? (n + rows->length - 1) / rows->length : 0;
    rows->scales = tensor_f32(inputs[QUANTIZE_SCALE]);
    rows->zeros = op_input(node, inputs, QUANTIZE_ZERO);
    return ASSAY_OK;
}

static int64_t row_zero(const struct rows *rows, size_t i)
{
    return rows->zeros ? int_at(rows->zeros, i % rows->n_scales) : 0;
}

/* ---- any types, in double ------------------------------------------------ */

/* Which scale an element has. */
struct scale_places {
    size_t run, length, blocks; /* of the axis: elements after it, its size, and
                                   how many scales it has */
    size_t block;
};

static enum assay_status
quantize_find_places(const struct node *node,
                     const struct tensor *const *inputs,
                     struct scale_places *places, struct error *err)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[QUANTIZE_X]->shape;
    const struct tensor *scale = inputs[QUANTIZE_SCALE];
    struct shape wanted = *x;
    size_t n_scales;
    int axis;
    enum assay_status st;

    if (!attrs->block) {
        st = get_runs(node, inputs, &places->run, &n_scales, err);
        places->length = places->blocks = n_scales;
        places->block = 1;
        return st;
    }
    st = axis_resolve(attrs->axis, x->rank, &axis, err);
    if (st)
        return st;
    wanted.dims[axis] = (x->dims[axis] + attrs->block - 1) / attrs->block;
    if (!shape_equal(&wanted, &scale->shape))
        return rule_misfit("scale", &scale->shape, "blocks", &wanted, err);
    if (op_input(node, inputs, QUANTIZE_ZERO) &&
        !shape_equal(&inputs[QUANTIZE_ZERO]->shape, &wanted))
        return rule_misfit("zeros", &inputs[QUANTIZE_ZERO]->shape, "blocks",
                           &wanted, err);
    *places =
        (struct scale_places){.run = (size_t)shape_span(x, axis + 1, x->rank),
                              .length = (size_t)x->dims[axis],
                              .blocks = (size_t)wanted.dims[axis],
                              .block = (size_t)attrs->block};
    return ASSAY_OK;
}

static size_t quantize_place(const struct scale_places *places, bool is_blocked,
                             size_t i)
{
    size_t at = i / places->run % places->length / places->block;

    return is_blocked ? (i / places->run / places->length * places->blocks +
                         at) * places->run +
                            i % places->run
                      : at;
}

/* The largest and smallest number of an integer type of up to 32 bits. */
static void quantize_range(enum dtype dtype, double *low, double *high)
{
    int bits = dtype == DTYPE_I2 || dtype == DTYPE_U2 ? 2
               : dtype == DTYPE_I4 || dtype == DTYPE_U4
                   ? 4
                   : 8 * (int)dtype_bytes(dtype);

    *low = dtype_is_signed(dtype) ? -ldexp(1, bits - 1) : 0;
    *high = ldexp(1, dtype_is_signed(dtype) ? bits - 1 : bits) - 1;
}

static void quantize_put(const struct quantize_attrs *attrs,
                         const struct tensor *y, size_t i, double value,
                         double zero)
{
    const struct small_float *type = dtype_small_float(y->dtype);
    double low, high;

    if (type) {
        ((uint8_t *)tensor_data(y))[i] =
            small_float_write(type, (float)value, !attrs->overflows);
        return;
    }
    if (!dtype_is_float(y->dtype)) {
        quantize_range(y->dtype, &low, &high);
        value = rint(value) + zero;
        value = value > low ? value : low; /* low for a NaN */
        value = value < high ? value : high;
    }
    number_put(y, i, value);
}

static enum assay_status quantize_any(const struct node *node,
                                      const struct tensor *const *inputs,
                                      const struct tensor *y, struct error *err)
{
    const struct quantize_attrs *attrs = node->attrs;
    const struct tensor *zeros = op_input(node, inputs, QUANTIZE_ZERO);
    bool is_back = node->op == &op_dequantize_linear;
    struct scale_places places;
    enum assay_status st = quantize_find_places(node, inputs, &places, err);

    for (size_t i = 0; !st && i < tensor_elements(y); i++) {
        size_t at = quantize_place(&places, attrs->block, i);
        double x = number_at(inputs[QUANTIZE_X], i);
        double scale = number_at(inputs[QUANTIZE_SCALE], at);
        double zero = zeros ? number_at(zeros, at) : 0;

        if (is_back)
            number_put(y, i, (x - zero) * scale);
        else
            quantize_put(attrs, y, i, x / scale, zero);
    }
    return st;
}

/* Whether the fast loops know the types. */
static bool quantize_is_usual(const struct node *node,
                              const struct tensor *const *inputs,
                              const struct tensor *few)
{
    const struct quantize_attrs *attrs = node->attrs;

    return !attrs->block && inputs[QUANTIZE_SCALE]->dtype == DTYPE_F32 &&
           (few->dtype == DTYPE_U8 || few->dtype == DTYPE_I8 ||
            few->dtype == DTYPE_U16 || few->dtype == DTYPE_I16);
}

/* ---- 8 and 16 bits
 * -------------------------------------------------------------- */

static enum assay_status quantize_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    size_t n = tensor_elements(inputs[QUANTIZE_X]);
    size_t bytes = dtype_bytes(outputs[0].dtype);
    struct tensor x;
    struct rows rows;
    enum assay_status st;

    if (!quantize_is_usual(node, inputs, &outputs[0]))
        return quantize_any(node, inputs, &outputs[0], err);
    st = quantize_get_rows(node, inputs, &rows, err);
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

        quantize_row(outputs[0].dtype, tensor_f32(&x) + at,
                     (char *)tensor_data(&outputs[0]) + at * bytes, length,
                     rows.scales[i % rows.n_scales], (int)row_zero(&rows, i));
    }
    tensor_release(&x);
    return ASSAY_OK;
}

static enum assay_status dequantize_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct quantize_attrs *attrs = node->attrs;

    rule_set(&outputs[0],
             attrs->has_dtype ? attrs->dtype : inputs[QUANTIZE_SCALE]->dtype,
             &inputs[QUANTIZE_X]->shape);
    return quantize_check_scale(inputs, err);
}

static enum assay_status dequantize_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct tensor *x = inputs[QUANTIZE_X];
    size_t n = tensor_elements(x), bytes = dtype_bytes(x->dtype);
    struct rows rows;
    enum assay_status st;

    if (!quantize_is_usual(node, inputs, x) || outputs[0].dtype != DTYPE_F32)
        return quantize_any(node, inputs, &outputs[0], err);
    st = quantize_get_rows(node, inputs, &rows, err);
    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context)) if (n > row_length)
    for (size_t i = 0; i < rows.n; i++) {
        size_t at = i * rows.length;
        size_t length = n - at < rows.length ? n - at : rows.length;

        dequantize_row(x->dtype, (const char *)tensor_data(x) + at * bytes,
                       tensor_f32(&outputs[0]) + at, length,
                       rows.scales[i % rows.n_scales], (int)row_zero(&rows, i));
    }
    return ASSAY_OK;
}

static enum assay_status dynamic_infer(const struct node *node,
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

VARIANTS(void, range_of, (const float *x, size_t n, float *low, float *high),
         (x, n, low, high))
{
    float least[LANES] = {0}, most[LANES] = {0};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            least[k] = x[i + k] < least[k] ? x[i + k] : least[k];
            most[k] = x[i + k] > most[k] ? x[i + k] : most[k];
        }
    }
    for (; i < n; i++) {
        least[0] = x[i] < least[0] ? x[i] : least[0];
        most[0] = x[i] > most[0] ? x[i] : most[0];
    }
    for (size_t k = 0; k < LANES; k++) {
        *low = least[k] < *low ? least[k] : *low;
        *high = most[k] > *high ? most[k] : *high;
    }
}

void quantized_range(const float *x, size_t n, float *low, float *high)
{
    *low = *high = 0;
    range_of(x, n, low, high);
}

void quantized_choose(float low, float high, float *scale, uint8_t *zero)
{
    float at;

    *scale = (high - low) / 255;
    at = *scale > 0 ? rintf(-low / *scale) : 0;
    *zero = (uint8_t)(at < 0 ? 0 : at > 255 ? 255 : at);
}

static enum assay_status dynamic_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const float *x = tensor_f32(inputs[0]);
    size_t n = tensor_elements(inputs[0]);
    float *scale = tensor_f32(&outputs[1]), low, high;
    uint8_t *zero = tensor_data(&outputs[2]);

    (void)context, (void)node, (void)err;
    quantized_range(x, n, &low, &high);
    quantized_choose(low, high, scale, zero);
    quantize_u8(x, tensor_data(&outputs[0]), n, *scale > 0 ? *scale : 1, *zero);
    return ASSAY_OK;
}

/* Quantised weights get atoms of their own; the next layer joins them with its
 * channels. */
static void quantize_give_atoms(struct channels *channels, uint32_t weight)
{
    const struct shape *shape = channels_shape(channels, weight);

    for (int i = 0; i < shape->rank && i < 2; i++) {
        if (!channels_of(channels, weight, i).n)
            channels_set(channels, weight, i,
                         channels_new(channels, (size_t)shape->dims[i]));
    }
}

/* Scales and zeros are scalars, or have one element per index of an axis. */
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

    if (attrs->block || attrs->has_dtype || attrs->overflows) {
        onnx_refuse(to, "its blocks or types need a later opset");
        return;
    }
    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, to->node->op->name, ONNX_ALL_INPUTS);
}

ATTR_FIELDS(quantize, FIELD_AXIS(quantize_attrs, axis),
            FIELD_AMOUNT(quantize_attrs, block),
            FIELD_FLAG(quantize_attrs, has_dtype),
            FIELD_DTYPE(quantize_attrs, dtype),
            FIELD_FLAG(quantize_attrs, overflows));

#define SELF                                                                   \
    .fields = quantize_fields, .channels = quantize_channels,                  \
    .to_onnx = quantize_to_onnx
#define CLASS(symbol, text, kind, least, most, made, ...)                      \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct quantize_attrs),                          \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(made, made),                                                  \
        .infer = kind##_infer,                                                 \
        .forward = kind##_forward,                                             \
        __VA_ARGS__,                                                           \
    };
CLASS(quantize_linear, "QuantizeLinear", quantize, 2, 3, 1, SELF)
CLASS(dequantize_linear, "DequantizeLinear", dequantize, 2, 3, 1, SELF)
CLASS(dynamic_quantize_linear, "DynamicQuantizeLinear", dynamic, 1, 1, 3,
      .fields = NULL)
