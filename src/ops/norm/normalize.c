/* ops/norm/normalize.c - see normalize.h. */
#include "ops/norm/normalize.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/int_list_internal.h"
#include "ops/norm/normalize_backward_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

void normalize_moments(const float *x, size_t n, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    *mean = n ? sum / (double)n : 0;
    for (size_t i = 0; i < n; i++)
        squares += ((double)x[i] - *mean) * ((double)x[i] - *mean);
    *variance = n ? squares / (double)n : 0;
}

static enum assay_status
normalize_check_channels(const struct tensor *const *inputs, size_t n,
                         int64_t channels, struct error *err)
{
    for (size_t i = 1; i < n; i++) {
        if (tensor_elements(inputs[i]) != (size_t)channels)
            return error_set(err, ASSAY_BAD_INPUT,
                             "input %zu has %zu elements for %lld channels", i,
                             tensor_elements(inputs[i]), (long long)channels);
    }
    return ASSAY_OK;
}

/* ---- InstanceNorm ----------------------------------------------------- */

static enum assay_status infer_instance_norm(const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct shape *x = &inputs[0]->shape;

    (void)node;
    rule_set(&outputs[0], DTYPE_F32, x);
    if (x->rank < 2)
        return rule_rank(inputs, 0, 4, err);
    return normalize_check_channels(inputs, 3, x->dims[1], err);
}

static enum assay_status
forward_instance_norm(const struct op_context *context, const struct node *node,
                      const struct tensor *const *inputs,
                      struct tensor *outputs, struct error *err)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct shape *shape = &inputs[0]->shape;
    int64_t channels = shape->dims[1], planes = shape->dims[0] * channels;
    size_t plane = (size_t)shape_span(shape, 2, shape->rank);

    (void)err;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < planes; i++) {
        const float *x = tensor_f32(inputs[0]) + (size_t)i * plane;
        float *y = tensor_f32(&outputs[0]) + (size_t)i * plane;
        float scale, shift;
        double mean, variance;

        normalize_moments(x, plane, &mean, &variance);
        scale = (float)((double)tensor_f32(inputs[1])[i % channels] /
                        sqrt(variance + (double)attrs->eps));
        shift = tensor_f32(inputs[2])[i % channels];
        for (size_t k = 0; k < plane; k++)
            y[k] = (x[k] - (float)mean) * scale + shift;
    }
    return ASSAY_OK;
}

/* ---- LayerNorm -------------------------------------------------------- */

static enum assay_status infer_layer_norm(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    struct shape outer = *x;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    if (st)
        return st;
    for (int i = axis; i < x->rank; i++)
        outer.dims[i] = 1;
    rule_set(&outputs[0], DTYPE_F32, x);
    for (size_t i = 1; i < node->n_outputs; i++)
        rule_set(&outputs[i], DTYPE_F32, &outer);
    for (size_t i = 1; i < node->n_inputs; i++) {
        if (inputs[i] &&
            tensor_elements(inputs[i]) != (size_t)shape_span(x, axis, x->rank))
            return error_set(err, ASSAY_BAD_INPUT,
                             "input %zu has %zu elements for lines of %lld", i,
                             tensor_elements(inputs[i]),
                             (long long)shape_span(x, axis, x->rank));
    }
    return ASSAY_OK;
}

static enum assay_status forward_layer_norm(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0];
    const float *scale = tensor_f32(inputs[1]);
    const float *bias =
        node->n_inputs > 2 && inputs[2] ? tensor_f32(inputs[2]) : NULL;
    int64_t lines;
    size_t n;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->shape.rank, &axis, err);

    if (st)
        return st;
    lines = shape_span(&x->shape, 0, axis);
    n = (size_t)shape_span(&x->shape, axis, x->shape.rank);
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < lines; i++) {
        const float *from = tensor_f32(x) + (size_t)i * n;
        float *to = tensor_f32(&outputs[0]) + (size_t)i * n;
        double mean, variance;
        float factor;

        normalize_moments(from, n, &mean, &variance);
        factor = (float)(1 / sqrt(variance + (double)attrs->eps));
        for (size_t k = 0; k < n; k++)
            to[k] = (from[k] - (float)mean) * factor * scale[k] +
                    (bias ? bias[k] : 0);
        if (node->n_outputs > 1)
            tensor_f32(&outputs[1])[i] = (float)mean;
        if (node->n_outputs > 2)
            tensor_f32(&outputs[2])[i] = factor;
    }
    return ASSAY_OK;
}

/* ---- LocalResponseNorm ------------------------------------------------ */

static enum assay_status
infer_local_response_norm(const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct local_response_norm_attrs *attrs = node->attrs;

    rule_set(&outputs[0], DTYPE_F32, &inputs[0]->shape);
    if (inputs[0]->shape.rank < 2)
        return rule_rank(inputs, 0, 4, err);
    if (attrs->size < 1)
        return error_set(err, ASSAY_BAD_INPUT, "a norm over %lld channels",
                         (long long)attrs->size);
    return ASSAY_OK;
}

/* One channel of an image: the squares of its neighbours, element by
 * element. */
static void respond(const struct local_response_norm_attrs *attrs,
                    const float *image, int64_t channel, int64_t channels,
                    int64_t plane, float *y)
{
    int64_t first = channel - (attrs->size - 1) / 2;
    int64_t last = channel + attrs->size / 2;

    first = first < 0 ? 0 : first;
    last = last >= channels ? channels - 1 : last;
    for (int64_t i = 0; i < plane; i++)
        y[i] = 0;
    for (int64_t c = first; c <= last; c++) {
        for (int64_t i = 0; i < plane; i++)
            y[i] += image[c * plane + i] * image[c * plane + i];
    }
    for (int64_t i = 0; i < plane; i++)
        y[i] = image[channel * plane + i] /
               powf(attrs->bias + attrs->alpha / (float)attrs->size * y[i],
                    attrs->beta);
}

static enum assay_status
forward_local_response_norm(const struct op_context *context,
                            const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err)
{
    const struct shape *shape = &inputs[0]->shape;
    int64_t channels = shape->dims[1];
    int64_t plane = shape_span(shape, 2, shape->rank);
    int64_t n = shape->dims[0] * channels;

    (void)err;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        respond(node->attrs,
                tensor_f32(inputs[0]) + i / channels * channels * plane,
                i % channels, channels, plane,
                tensor_f32(&outputs[0]) + i * plane);
    return ASSAY_OK;
}

/* Scale and bias have the dimensions from the axis on. */
static void layer_norm_channels(struct channels *channels,
                                const struct node *node)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct shape *x = channels_shape(channels, node->inputs[0]);
    int axis;

    if (!x || node->n_outputs > 1) {
        channels_fix_inputs(channels, node);
        return;
    }
    axis = channels_axis(attrs->axis, x->rank);
    for (size_t i = 1; i < node->n_inputs; i++) {
        for (int d = axis; d < x->rank; d++)
            channels_match(channels, node->inputs[i], d - axis,
                           channels_of(channels, node->inputs[0], d));
    }
    channels_pass(channels, node->inputs[0], node->outputs[0]);
}

static void instance_norm_to_onnx(struct onnx_sink *to)
{
    const struct normalize_attrs *attrs = to->node->attrs;

    onnx_attr_float(to, "epsilon", (double)attrs->eps);
    onnx_put_node(to, "InstanceNormalization", ONNX_ALL_INPUTS);
}

static void layer_norm_to_onnx(struct onnx_sink *to)
{
    const struct normalize_attrs *attrs = to->node->attrs;

    onnx_needs_opset(to, 17);
    onnx_attr_float(to, "epsilon", (double)attrs->eps);
    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, "LayerNormalization", ONNX_ALL_INPUTS);
}

static void local_response_norm_to_onnx(struct onnx_sink *to)
{
    const struct local_response_norm_attrs *attrs = to->node->attrs;

    onnx_attr_int(to, "size", attrs->size);
    onnx_attr_float(to, "alpha", (double)attrs->alpha);
    onnx_attr_float(to, "beta", (double)attrs->beta);
    onnx_attr_float(to, "bias", (double)attrs->bias);
    onnx_put_node(to, "LRN", 1);
}

ATTR_FIELDS(local_response_norm, FIELD_SIZE(local_response_norm_attrs, size),
            FIELD_FLOAT(local_response_norm_attrs, alpha),
            FIELD_FLOAT(local_response_norm_attrs, beta),
            FIELD_FLOAT(local_response_norm_attrs, bias));
SHARED_ATTR_FIELDS(normalize, FIELD_FLOAT(normalize_attrs, eps),
                   FIELD_AXIS(normalize_attrs, axis),
                   FIELD_FLOAT(normalize_attrs, momentum),
                   FIELD_FLAG(normalize_attrs, is_unbiased),
                   FIELD_FLAG(normalize_attrs, has_relu),
                   FIELD_FLOAT(normalize_attrs, relu_limit));

#define CLASS(symbol, text, attrs, least, most, made, ...)                     \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        .attrs_bytes = sizeof(struct attrs),                                   \
        .min_inputs = least,                                                   \
        .max_inputs = most,                                                    \
        .min_outputs = 1,                                                      \
        .max_outputs = made,                                                   \
        .infer = infer_##symbol,                                               \
        .forward = forward_##symbol,                                           \
        .cost = rule_cost_elementwise,                                         \
        .backward = symbol##_backward,                                         \
        .backward_reads = symbol##_backward_reads,                             \
        .is_cheap = true,                                                      \
        .is_f32 = true,                                                        \
        .counted = COUNTED_NORM,                                               \
        .to_onnx = symbol##_to_onnx,                                           \
        __VA_ARGS__,                                                           \
    };
CLASS(instance_norm, "InstanceNorm", normalize_attrs, 3, 3, 1,
      .fields = normalize_fields, .channels = channel_norm)
CLASS(layer_norm, "LayerNorm", normalize_attrs, 2, 3, 3,
      .fields = normalize_fields, .channels = layer_norm_channels)
CLASS(local_response_norm, "LocalResponseNorm", local_response_norm_attrs, 1, 1,
      1, .fields = local_response_norm_fields, .channels = channel_window)
