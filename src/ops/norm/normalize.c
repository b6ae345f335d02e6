/* ops/norm/normalize.c - see normalize.h. */
#include "ops/norm/normalize.h"

#include "base/mem.h"
#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>
#include <string.h>

enum { NORM_X, NORM_SCALE, NORM_BIAS };
enum { parallel_elements = 1 << 13 };

/* Sums beside each other, so that rows are read as vectors. */
enum { normalize_strands = 16 };

VARIANT_PART double normalize_join(const double *sums)
{
    double sum = 0;

    for (int k = 0; k < normalize_strands; k++)
        sum += sums[k];
    return sum;
}

/* Two passes: a mean far from 0 would spoil the variance otherwise. */
VARIANTS(void, normalize_moments,
         (const float *x, size_t n, double *mean, double *variance),
         (x, n, mean, variance))
{
    double sums[normalize_strands] = {0}, squares[normalize_strands] = {0};
    double middle;
    size_t i = 0;

    for (; i + normalize_strands <= n; i += normalize_strands) {
        for (size_t k = 0; k < normalize_strands; k++)
            sums[k] += (double)x[i + k];
    }
    for (; i < n; i++)
        sums[0] += (double)x[i];
    middle = n ? normalize_join(sums) / (double)n : 0;
    for (i = 0; i + normalize_strands <= n; i += normalize_strands) {
        for (size_t k = 0; k < normalize_strands; k++) {
            double off = (double)x[i + k] - middle;

            squares[k] += off * off;
        }
    }
    for (; i < n; i++)
        squares[0] += ((double)x[i] - middle) * ((double)x[i] - middle);
    *mean = middle;
    *variance = n ? normalize_join(squares) / (double)n : 0;
}

static struct op_reads normalize_backward_reads(const struct node *node,
                                                uint64_t wanted)
{
    struct op_reads reads = {0};

    (void)node;
    if (wanted & (1 << NORM_X | 1 << NORM_SCALE))
        reads.inputs |= 1 << NORM_X;
    if (wanted & 1 << NORM_X)
        reads.inputs |= 1 << NORM_SCALE;
    return reads;
}

/* ---- backward kernels of lines ------------------------------------------- */

/* A line, and what it was normalised with. */
struct line {
    size_t n;
    const float *x, *dy;
    float mean, factor;
};

static struct line normalize_line_of(const struct node *node,
                                     const struct op_backward *pass, int64_t i,
                                     size_t n)
{
    const struct normalize_attrs *attrs = node->attrs;
    struct line line = {.n = n, .dy = tensor_f32(pass->dy[0]) + (size_t)i * n};
    double mean, variance;

    if (!pass->inputs[NORM_X]->buffer)
        return line;
    line.x = tensor_f32(pass->inputs[NORM_X]) + (size_t)i * n;
    normalize_moments(line.x, n, &mean, &variance);
    line.mean = (float)mean;
    line.factor = (float)(1 / sqrt(variance + (double)attrs->eps));
    return line;
}

/* With normalised values z and g = dy * scale:
 *     dx = (g - mean(g) - z * mean(g * z)) / deviation
 * scale: one for the line (step 0), or one per element (step 1). */
static void normalize_pass_line(const struct line *line, const float *scale,
                                size_t step, float *dx)
{
    double sum = 0, product = 0;
    float of_mean, of_x;

    for (size_t i = 0; i < line->n; i++) {
        double g = (double)line->dy[i] * (double)scale[i * step];

        sum += g;
        product += g * (double)((line->x[i] - line->mean) * line->factor);
    }
    of_mean = (float)(sum / (double)line->n);
    of_x = (float)(product / (double)line->n);
    for (size_t i = 0; i < line->n; i++)
        dx[i] = (line->dy[i] * scale[i * step] - of_mean -
                 (line->x[i] - line->mean) * line->factor * of_x) *
                line->factor;
}

/* ---- InstanceNorm ----------------------------------------------------- */

static enum assay_status instance_norm_infer(const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const struct shape *x = &inputs[0]->shape;

    (void)node;
    rule_set(&outputs[0], DTYPE_F32, x);
    if (x->rank < 2)
        return rule_rank(inputs, 0, 4, err);
    return rule_per_channel(inputs, 3, x->dims[1], err);
}

static enum assay_status
instance_norm_forward(const struct op_context *context, const struct node *node,
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

/* A channel's planes in all images. */
static void instance_norm_pass_channel(const struct node *node,
                                       const struct op_backward *pass,
                                       int64_t c)
{
    const struct shape *shape = &pass->inputs[NORM_X]->shape;
    size_t plane = (size_t)shape_span(shape, 2, shape->rank);
    double sum = 0, product = 0;

    for (int64_t n = 0; n < shape->dims[0]; n++) {
        int64_t i = n * shape->dims[1] + c;
        struct line line = normalize_line_of(node, pass, i, plane);

        if (op_wants(pass, NORM_X))
            normalize_pass_line(
                &line, tensor_f32(pass->inputs[NORM_SCALE]) + c, 0,
                tensor_f32(&pass->dx[NORM_X]) + (size_t)i * plane);
        for (size_t k = 0; k < plane; k++) {
            sum += (double)line.dy[k];
            if (line.x)
                product += (double)line.dy[k] *
                           (double)((line.x[k] - line.mean) * line.factor);
        }
    }
    if (op_wants(pass, NORM_SCALE))
        tensor_f32(&pass->dx[NORM_SCALE])[c] = (float)product;
    if (op_wants(pass, NORM_BIAS))
        tensor_f32(&pass->dx[NORM_BIAS])[c] = (float)sum;
}

static enum assay_status
instance_norm_backward(const struct op_context *context,
                       const struct node *node, const struct op_backward *pass,
                       struct error *err)
{
    int parts = gradient_parts(context, tensor_elements(pass->dy[0]));

    (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < pass->inputs[NORM_X]->shape.dims[1]; c++)
        instance_norm_pass_channel(node, pass, c);
    return ASSAY_OK;
}

/* ---- LayerNorm -------------------------------------------------------- */

static enum assay_status layer_norm_infer(const struct node *node,
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

VARIANTS(void, layer_norm_line,
         (const float *from, size_t n, float mean, float factor,
          const float *scale, const float *bias, float *to),
         (from, n, mean, factor, scale, bias, to))
{
    if (bias) {
        for (size_t k = 0; k < n; k++)
            to[k] = (from[k] - mean) * factor * scale[k] + bias[k];
    } else {
        for (size_t k = 0; k < n; k++)
            to[k] = (from[k] - mean) * factor * scale[k];
    }
}

static enum assay_status layer_norm_forward(const struct op_context *context,
                                            const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0];
    const float *scale = tensor_f32(inputs[1]);
    const struct tensor *shift = op_input(node, inputs, NORM_BIAS);
    const float *bias = shift ? tensor_f32(shift) : NULL;
    int64_t lines;
    size_t n;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->shape.rank, &axis, err);

    if (st)
        return st;
    lines = shape_span(&x->shape, 0, axis);
    n = (size_t)shape_span(&x->shape, axis, x->shape.rank);
#pragma omp parallel for num_threads(                                          \
    op_threads(context)) if (tensor_elements(x) > parallel_elements)
    for (int64_t i = 0; i < lines; i++) {
        const float *from = tensor_f32(x) + (size_t)i * n;
        float *to = tensor_f32(&outputs[0]) + (size_t)i * n;
        double mean, variance;
        float factor;

        normalize_moments(from, n, &mean, &variance);
        factor = (float)(1 / sqrt(variance + (double)attrs->eps));
        layer_norm_line(from, n, (float)mean, factor, scale, bias, to);
        if (node->n_outputs > 1)
            tensor_f32(&outputs[1])[i] = (float)mean;
        if (node->n_outputs > 2)
            tensor_f32(&outputs[2])[i] = factor;
    }
    return ASSAY_OK;
}

/* Gradients of elements [first, last) of scale and bias. */
static void layer_norm_sum_lines(const struct op_backward *pass,
                                 const struct line *lines, int64_t n_lines,
                                 size_t first, size_t last)
{
    for (size_t k = first; k < last; k++) {
        double sum = 0, product = 0;

        for (int64_t i = 0; i < n_lines; i++) {
            const struct line *line = &lines[i];

            sum += (double)line->dy[k];
            if (line->x)
                product += (double)line->dy[k] *
                           (double)((line->x[k] - line->mean) * line->factor);
        }
        if (op_wants(pass, NORM_SCALE))
            tensor_f32(&pass->dx[NORM_SCALE])[k] = (float)product;
        if (op_wants(pass, NORM_BIAS))
            tensor_f32(&pass->dx[NORM_BIAS])[k] = (float)sum;
    }
}

static enum assay_status layer_norm_backward(const struct op_context *context,
                                             const struct node *node,
                                             const struct op_backward *pass,
                                             struct error *err)
{
    const struct normalize_attrs *attrs = node->attrs;
    const struct shape *x = &pass->inputs[NORM_X]->shape;
    int parts = gradient_parts(context, tensor_elements(pass->dy[0]));
    struct line *lines;
    int64_t n_lines;
    size_t n;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    if (st)
        return st;
    if ((node->n_outputs > 1 && pass->dy[1]) ||
        (node->n_outputs > 2 && pass->dy[2]))
        return error_set(err, ASSAY_UNSUPPORTED,
                         "gradients of a norm's statistics are not supported");
    if (!pass->dy[0])
        return ASSAY_OK;
    n_lines = shape_span(x, 0, axis);
    n = (size_t)shape_span(x, axis, x->rank);
    lines = mem_array((size_t)n_lines, sizeof *lines);
    if (!lines)
        return error_nomem(err, (size_t)n_lines * sizeof *lines, "a norm");
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < n_lines; i++) {
        lines[i] = normalize_line_of(node, pass, i, n);
        if (op_wants(pass, NORM_X))
            normalize_pass_line(&lines[i], tensor_f32(pass->inputs[NORM_SCALE]),
                                1,
                                tensor_f32(&pass->dx[NORM_X]) + (size_t)i * n);
    }
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int i = 0; i < parts; i++)
        layer_norm_sum_lines(pass, lines, n_lines,
                             n * (size_t)i / (size_t)parts,
                             n * (size_t)(i + 1) / (size_t)parts);
    mem_free(lines);
    return ASSAY_OK;
}

/* ---- LocalResponseNorm ------------------------------------------------ */

static enum assay_status
local_response_norm_infer(const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct local_response_norm_attrs *attrs = node->attrs;

    rule_set(&outputs[0], DTYPE_F32, &inputs[0]->shape);
    if (inputs[0]->shape.rank < 2)
        return rule_rank(inputs, 0, 4, err);
    if (attrs->size < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "cannot normalise over %lld channels",
                         (long long)attrs->size);
    return ASSAY_OK;
}

/* The channels near one: at most so many before and after it. */
struct reach {
    int64_t first, last;
};

static struct reach local_response_neighbours(int64_t channel, int64_t before,
                                              int64_t after, int64_t channels)
{
    struct reach reach = {channel - before, channel + after};

    reach.first = reach.first < 0 ? 0 : reach.first;
    reach.last = reach.last >= channels ? channels - 1 : reach.last;
    return reach;
}

/* Normalises one channel by the squares of its neighbours. */
static void
local_response_channel(const struct local_response_norm_attrs *attrs,
                       const float *image, int64_t channel, int64_t channels,
                       int64_t plane, float *y)
{
    struct reach reach = local_response_neighbours(
        channel, (attrs->size - 1) / 2, attrs->size / 2, channels);

    for (int64_t i = 0; i < plane; i++)
        y[i] = 0;
    for (int64_t c = reach.first; c <= reach.last; c++) {
        for (int64_t i = 0; i < plane; i++)
            y[i] += image[c * plane + i] * image[c * plane + i];
    }
    for (int64_t i = 0; i < plane; i++)
        y[i] = image[channel * plane + i] /
               powf(attrs->bias + attrs->alpha / (float)attrs->size * y[i],
                    attrs->beta);
}

static enum assay_status
local_response_norm_forward(const struct op_context *context,
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
        local_response_channel(
            node->attrs,
            tensor_f32(inputs[0]) + i / channels * channels * plane,
            i % channels, channels, plane, tensor_f32(&outputs[0]) + i * plane);
    return ASSAY_OK;
}

/* For one channel: dx = dy * d^-beta and parts = dy * x * d^(-beta - 1), where
 * d is the sum that the norm raised to beta. */
static void
local_response_find_parts(const struct local_response_norm_attrs *attrs,
                          const float *image, int64_t channel, int64_t channels,
                          int64_t plane, const float *dy, float *dx,
                          float *parts)
{
    struct reach reach = local_response_neighbours(
        channel, (attrs->size - 1) / 2, attrs->size / 2, channels);

    memset(parts, 0, (size_t)plane * sizeof *parts);
    for (int64_t c = reach.first; c <= reach.last; c++) {
        for (int64_t i = 0; i < plane; i++)
            parts[i] += image[c * plane + i] * image[c * plane + i];
    }
    for (int64_t i = 0; i < plane; i++) {
        float d = attrs->bias + attrs->alpha / (float)attrs->size * parts[i];

        dx[i] = dy[i] * powf(d, -attrs->beta);
        parts[i] = dx[i] * image[channel * plane + i] / d;
    }
}

/* Subtracts the channel's influence on its neighbours. */
static void
local_response_take_neighbours(const struct local_response_norm_attrs *attrs,
                               const float *image, const float *parts,
                               int64_t channel, int64_t channels, int64_t plane,
                               float *dx)
{
    struct reach reach = local_response_neighbours(
        channel, attrs->size / 2, (attrs->size - 1) / 2, channels);
    float factor = 2 * attrs->alpha * attrs->beta / (float)attrs->size;

    for (int64_t c = reach.first; c <= reach.last; c++) {
        for (int64_t i = 0; i < plane; i++)
            dx[i] -= factor * image[channel * plane + i] * parts[c * plane + i];
    }
}

static enum assay_status
local_response_norm_backward(const struct op_context *context,
                             const struct node *node,
                             const struct op_backward *pass, struct error *err)
{
    const struct shape *x = &pass->inputs[0]->shape;
    int64_t channels = x->dims[1], plane = shape_span(x, 2, x->rank);
    int64_t n = x->dims[0] * channels, image = channels * plane;
    const float *from = tensor_f32(pass->inputs[0]);
    float *dx = tensor_f32(&pass->dx[0]);
    struct tensor parts;
    enum assay_status st = tensor_new(context->pool, DTYPE_F32, x, &parts, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        local_response_find_parts(
            node->attrs, from + i / channels * image, i % channels, channels,
            plane, tensor_f32(pass->dy[0]) + i * plane, dx + i * plane,
            tensor_f32(&parts) + i * plane);
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        local_response_take_neighbours(
            node->attrs, from + i / channels * image,
            tensor_f32(&parts) + i / channels * image, i % channels, channels,
            plane, dx + i * plane);
    tensor_release(&parts);
    return ASSAY_OK;
}

/* ---- the classes --------------------------------------------------------- */

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

#define CLASS(symbol, text, attrs, least, most, made, reads, ruled)            \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(attrs),                                                       \
        OP_TAKES(least, most),                                                 \
        OP_MAKES(1, made),                                                     \
        .infer = symbol##_infer,                                               \
        .forward = symbol##_forward,                                           \
        .cost = rule_cost_elementwise,                                         \
        .backward = symbol##_backward,                                         \
        .backward_reads = reads,                                               \
        .is_cheap = true,                                                      \
        .is_f32 = true,                                                        \
        .counted = COUNTED_NORM,                                               \
        .channels = ruled,                                                     \
        .to_onnx = symbol##_to_onnx,                                           \
    };
CLASS(instance_norm, "InstanceNorm", normalize, 3, 3, 1,
      normalize_backward_reads, channel_norm)
CLASS(layer_norm, "LayerNorm", normalize, 2, 3, 3, normalize_backward_reads,
      layer_norm_channels)
CLASS(local_response_norm, "LocalResponseNorm", local_response_norm, 1, 1, 1,
      gradient_reads_input, channel_window)
