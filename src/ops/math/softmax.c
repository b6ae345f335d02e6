/* ops/math/softmax.c - see softmax.h.
 *
 * Neighbouring lines along the axis are computed in blocks, so that the inner
 * loops run over contiguous memory. Subtracting the largest value of a line
 * first keeps exp() from overflowing. */
#include "ops/math/softmax.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/math/vector_math_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <math.h>

enum {
    block = 64, /* neighbouring lines */
    lanes = 16,
    parallel_elements = 1 << 13
};

/* n values, `step` apart, in each of `width` neighbouring lines. */
struct lines {
    int64_t n, step, width;
};

VARIANT_PART float fast_exp(float x)
{
    return vector_exp(x);
}

#define KERNELS(type, exp_of, log_of)                                          \
    VARIANT_PART void find_largest_##type(const struct lines *lines,           \
                                          const type *x, type *largest)        \
    {                                                                          \
        for (int64_t k = 0; k < lines->width; k++)                             \
            largest[k] = x[k];                                                 \
        for (int64_t i = 1; i < lines->n; i++) {                               \
            for (int64_t k = 0; k < lines->width; k++) {                       \
                type v = x[i * lines->step + k];                               \
                                                                               \
                largest[k] = v > largest[k] ? v : largest[k];                  \
            }                                                                  \
        }                                                                      \
    }                                                                          \
                                                                               \
    VARIANTS(void, softmax_##type,                                             \
             (const struct lines *lines, const type *x, type *y),              \
             (lines, x, y))                                                    \
    {                                                                          \
        type largest[block], sum[block] = {0};                                 \
                                                                               \
        find_largest_##type(lines, x, largest);                                \
        for (int64_t i = 0; i < lines->n; i++) {                               \
            for (int64_t k = 0; k < lines->width; k++) {                       \
                type e = exp_of(x[i * lines->step + k] - largest[k]);          \
                                                                               \
                y[i * lines->step + k] = e;                                    \
                sum[k] += e;                                                   \
            }                                                                  \
        }                                                                      \
        for (int64_t i = 0; i < lines->n; i++) {                               \
            for (int64_t k = 0; k < lines->width; k++)                         \
                y[i * lines->step + k] /= sum[k];                              \
        }                                                                      \
    }                                                                          \
                                                                               \
    VARIANTS(void, log_softmax_##type,                                         \
             (const struct lines *lines, const type *x, type *y),              \
             (lines, x, y))                                                    \
    {                                                                          \
        type largest[block], sum[block] = {0};                                 \
                                                                               \
        find_largest_##type(lines, x, largest);                                \
        for (int64_t i = 0; i < lines->n; i++) {                               \
            for (int64_t k = 0; k < lines->width; k++)                         \
                sum[k] += exp_of(x[i * lines->step + k] - largest[k]);         \
        }                                                                      \
        for (int64_t k = 0; k < lines->width; k++)                             \
            sum[k] = log_of(sum[k]);                                           \
        for (int64_t i = 0; i < lines->n; i++) {                               \
            for (int64_t k = 0; k < lines->width; k++)                         \
                y[i * lines->step + k] =                                       \
                    x[i * lines->step + k] - largest[k] - sum[k];              \
        }                                                                      \
    }                                                                          \
                                                                               \
    static void hardmax_##type(const struct lines *lines, const type *x,       \
                               type *y)                                        \
    {                                                                          \
        for (int64_t k = 0; k < lines->width; k++) {                           \
            int64_t best = 0;                                                  \
                                                                               \
            for (int64_t i = 0; i < lines->n; i++) {                           \
                if (x[i * lines->step + k] > x[best * lines->step + k])        \
                    best = i;                                                  \
                y[i * lines->step + k] = 0;                                    \
            }                                                                  \
            y[best * lines->step + k] = 1;                                     \
        }                                                                      \
    }
KERNELS(float, fast_exp, logf)
KERNELS(double, exp, log)

/* One line whose values are neighbours, in `lanes` sums. */
VARIANTS(void, softmax_line, (int64_t n, const float *x, float *y), (n, x, y))
{
    float largest = x[0], sums[lanes] = {0}, sum = 0, most[lanes];
    int64_t whole = n / lanes * lanes;

    for (int64_t l = 0; l < lanes; l++)
        most[l] = largest;
    for (int64_t i = 0; i < whole; i += lanes) {
        for (int64_t l = 0; l < lanes; l++)
            most[l] = x[i + l] > most[l] ? x[i + l] : most[l];
    }
    for (int64_t i = whole; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    for (int64_t l = 0; l < lanes; l++)
        largest = most[l] > largest ? most[l] : largest;
    for (int64_t i = 0; i < whole; i += lanes) {
        for (int64_t l = 0; l < lanes; l++) {
            y[i + l] = vector_exp(x[i + l] - largest);
            sums[l] += y[i + l];
        }
    }
    if (whole < n) {
        for (int64_t l = 0; l < lanes; l++)
            most[l] = (whole + l < n ? x[whole + l] : largest) - largest;
        for (int64_t l = 0; l < lanes; l++)
            most[l] = vector_exp(most[l]);
        for (int64_t l = 0; whole + l < n; l++) {
            y[whole + l] = most[l];
            sum += most[l];
        }
    }
    for (int64_t l = 0; l < lanes; l++)
        sum += sums[l];
    for (int64_t i = 0; i < n; i++)
        y[i] /= sum;
}

static enum assay_status softmax_get_axis(const struct node *node,
                                          const struct shape *x, int *axis,
                                          struct error *err)
{
    const struct softmax_attrs *attrs = node->attrs;

    /* For a scalar, and after the last axis, lines have one element. */
    if (attrs->axis == x->rank && (attrs->is_flat || x->rank == 0)) {
        *axis = x->rank;
        return ASSAY_OK;
    }
    return axis_resolve(attrs->axis, x->rank, axis, err);
}

static enum assay_status softmax_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    int axis;

    rule_set(&outputs[0], inputs[0]->dtype, &inputs[0]->shape);
    return softmax_get_axis(node, &inputs[0]->shape, &axis, err);
}

static void softmax_run_f32(const struct op_class *op,
                            const struct lines *lines, const float *x, float *y)
{
    if (op == &op_softmax && lines->width == 1 && lines->step == 1)
        softmax_line(lines->n, x, y);
    else if (op == &op_softmax)
        softmax_float(lines, x, y);
    else if (op == &op_log_softmax)
        log_softmax_float(lines, x, y);
    else
        hardmax_float(lines, x, y);
}

static void softmax_run_f64(const struct op_class *op,
                            const struct lines *lines, const double *x,
                            double *y)
{
    if (op == &op_softmax)
        softmax_double(lines, x, y);
    else if (op == &op_log_softmax)
        log_softmax_double(lines, x, y);
    else
        hardmax_double(lines, x, y);
}

/* All lines: [outer, n, inner], with the inner ones in blocks. */
struct whole {
    int64_t outer, n, inner, blocks;
};

static enum assay_status softmax_get_whole(const struct node *node,
                                           const struct shape *shape,
                                           struct whole *whole,
                                           struct error *err)
{
    bool is_flat = ((const struct softmax_attrs *)node->attrs)->is_flat;
    int axis;
    enum assay_status st = softmax_get_axis(node, shape, &axis, err);

    if (st)
        return st;
    *whole = (struct whole){.outer = shape_span(shape, 0, axis), .inner = 1};
    if (is_flat || axis >= shape->rank) {
        whole->n = shape_span(shape, axis, shape->rank);
    } else {
        whole->n = shape->dims[axis];
        whole->inner = shape_span(shape, axis + 1, shape->rank);
    }
    whole->blocks = (whole->inner + block - 1) / block;
    return ASSAY_OK;
}

/* Block i; returns where it begins. */
static int64_t softmax_get_lines(const struct whole *whole, int64_t i,
                                 struct lines *lines)
{
    int64_t first = i % whole->blocks * block, left = whole->inner - first;

    *lines =
        (struct lines){whole->n, whole->inner, left < block ? left : block};
    return i / whole->blocks * whole->n * whole->inner + first;
}

static enum assay_status softmax_kernel(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct tensor *x = inputs[0], *y = &outputs[0];
    struct whole whole;
    enum assay_status st = softmax_get_whole(node, &x->shape, &whole, err);

    if (!st && x->dtype != DTYPE_F32 && x->dtype != DTYPE_F64)
        st = rule_undefined(node, x->dtype, err);
    if (st || !tensor_elements(x))
        return st;
#pragma omp parallel for num_threads(                                          \
    op_threads(context)) if (tensor_elements(x) > parallel_elements)
    for (int64_t i = 0; i < whole.outer * whole.blocks; i++) {
        struct lines lines;
        int64_t at = softmax_get_lines(&whole, i, &lines);

        if (x->dtype == DTYPE_F32)
            softmax_run_f32(node->op, &lines, tensor_f32(x) + at,
                            tensor_f32(y) + at);
        else
            softmax_run_f64(node->op, &lines, (double *)tensor_data(x) + at,
                            (double *)tensor_data(y) + at);
    }
    return ASSAY_OK;
}

WIDEN_FORWARD(softmax_forward, softmax_kernel)

/* dx = y * (dy - sum(y * dy)) */
VARIANTS(void, pass_softmax,
         (const struct lines *lines, const float *y, const float *dy,
          float *dx),
         (lines, y, dy, dx))
{
    float sum[block] = {0};

    for (int64_t i = 0; i < lines->n; i++) {
        for (int64_t k = 0; k < lines->width; k++)
            sum[k] += y[i * lines->step + k] * dy[i * lines->step + k];
    }
    for (int64_t i = 0; i < lines->n; i++) {
        for (int64_t k = 0; k < lines->width; k++)
            dx[i * lines->step + k] =
                y[i * lines->step + k] * (dy[i * lines->step + k] - sum[k]);
    }
}

/* dx = dy - exp(y) * sum(dy) */
VARIANTS(void, pass_log_softmax,
         (const struct lines *lines, const float *y, const float *dy,
          float *dx),
         (lines, y, dy, dx))
{
    float sum[block] = {0};

    for (int64_t i = 0; i < lines->n; i++) {
        for (int64_t k = 0; k < lines->width; k++)
            sum[k] += dy[i * lines->step + k];
    }
    for (int64_t i = 0; i < lines->n; i++) {
        for (int64_t k = 0; k < lines->width; k++)
            dx[i * lines->step + k] =
                dy[i * lines->step + k] -
                vector_exp(y[i * lines->step + k]) * sum[k];
    }
}

static enum assay_status softmax_backward(const struct op_context *context,
                                          const struct node *node,
                                          const struct op_backward *pass,
                                          struct error *err)
{
    const struct tensor *y = &pass->outputs[0];
    int parts = gradient_parts(context, tensor_elements(y));
    struct whole whole;
    enum assay_status st = softmax_get_whole(node, &y->shape, &whole, err);

    if (st || !tensor_elements(y))
        return st;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t i = 0; i < whole.outer * whole.blocks; i++) {
        struct lines lines;
        int64_t at = softmax_get_lines(&whole, i, &lines);
        const float *dy = tensor_f32(pass->dy[0]) + at;
        float *dx = tensor_f32(&pass->dx[0]) + at;

        if (node->op == &op_softmax)
            pass_softmax(&lines, tensor_f32(y) + at, dy, dx);
        else
            pass_log_softmax(&lines, tensor_f32(y) + at, dy, dx);
    }
    return ASSAY_OK;
}

static void softmax_channels(struct channels *channels, const struct node *node)
{
    const struct softmax_attrs *attrs = node->attrs;
    const struct shape *in, *out;
    int axis;

    if (!channels_shapes(channels, node, &in, &out))
        return;
    axis = channels_axis(attrs->axis, in->rank);
    channels_pass(channels, node->inputs[0], node->outputs[0]);
    for (int d = 0; d < in->rank; d++) {
        if (d == axis || (attrs->is_flat && d > axis))
            channels_fix(channels, channels_of(channels, node->inputs[0], d));
    }
}

static void softmax_to_onnx(struct onnx_sink *to)
{
    const struct softmax_attrs *attrs = to->node->attrs;
    const struct shape *x = onnx_input_shape(to, 0);
    int axis = x && attrs->axis < 0 ? attrs->axis + x->rank : attrs->axis;

    for (int i = axis + 1; attrs->is_flat && (!x || i < x->rank); i++) {
        if (!x || x->dims[i] != 1) {
            onnx_refuse(to, "opset 13 has no softmax over several "
                            "dimensions");
            return;
        }
    }
    onnx_attr_int(to, "axis", attrs->axis);
    onnx_put_node(to, to->node->op->name, 1);
}

ATTR_FIELDS(softmax,
            FIELD_SMALL(softmax_attrs, axis, -SHAPE_MAX_RANK, SHAPE_MAX_RANK),
            FIELD_FLAG(softmax_attrs, is_flat));

#define CLASS(symbol, text, passes, reads, ruled)                              \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(softmax),                                                     \
        OP_TAKES(1, 1),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = softmax_infer,                                                \
        .forward = softmax_forward,                                            \
        .cost = rule_cost_elementwise,                                         \
        .backward = passes,                                                    \
        .backward_reads = reads,                                               \
        .channels = ruled,                                                     \
        .to_onnx = softmax_to_onnx,                                            \
    };
CLASS(softmax, "Softmax", softmax_backward, gradient_reads_output,
      softmax_channels)
CLASS(log_softmax, "LogSoftmax", softmax_backward, gradient_reads_output,
      softmax_channels)
CLASS(hardmax, "Hardmax", NULL, NULL, NULL)
