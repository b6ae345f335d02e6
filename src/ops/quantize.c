/* ops/quantize.c - QuantizeLinear, DequantizeLinear and
 * DynamicQuantizeLinear, see quantize.h. */
#include "ops/quantize.h"

#include "ops/int_list.h"
#include "ops/ops.h"
#include "ops/quantized.h"
#include "ops/shape_rules.h"
#include "tensor/convert.h"

#include <math.h>

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

static enum assay_status forward_quantize(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct tensor *x = inputs[QUANTIZE_X], *zero = zero_of(node, inputs);
    const float *scales = tensor_f32(inputs[QUANTIZE_SCALE]);
    size_t bytes = dtype_bytes(outputs[0].dtype), run, n_scales;
    const char *from = tensor_data(x);
    char *to = tensor_data(&outputs[0]);
    enum assay_status st = get_runs(node, inputs, &run, &n_scales, err);

    (void)context;
    for (size_t i = 0; !st && i < tensor_elements(x); i++) {
        size_t at = i / run % n_scales;
        double value;

        convert_elements(x->dtype, from + i * dtype_bytes(x->dtype), DTYPE_F64,
                         &value, 1);
        quantized_store(outputs[0].dtype, (double)((float)value / scales[at]),
                        zero ? int_at(zero, at) : 0, to + i * bytes);
    }
    return st;
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
    const struct tensor *x = inputs[QUANTIZE_X], *zero = zero_of(node, inputs);
    const float *scales = tensor_f32(inputs[QUANTIZE_SCALE]);
    size_t run, n_scales;
    enum assay_status st = get_runs(node, inputs, &run, &n_scales, err);

    (void)context;
    for (size_t i = 0; !st && i < tensor_elements(x); i++) {
        size_t at = i / run % n_scales;
        int64_t value = int_at(x, i);

        value -= zero ? int_at(zero, at) : 0;
        tensor_f32(&outputs[0])[i] = (float)value * scales[at];
    }
    return st;
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

#define CLASS(symbol, text, kind, least, most, made)                           \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct quantize_attrs),                          \
        .min_inputs = least,                                                   \
        .max_inputs = most,                                                    \
        .min_outputs = made,                                                   \
        .max_outputs = made,                                                   \
        .infer = infer_##kind,                                                 \
        .forward = forward_##kind,                                             \
    };
CLASS(quantize_linear, "QuantizeLinear", quantize, 2, 3, 1)
CLASS(dequantize_linear, "DequantizeLinear", dequantize, 2, 3, 1)
CLASS(dynamic_quantize_linear, "DynamicQuantizeLinear", dynamic, 1, 1, 3)
