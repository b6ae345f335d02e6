/* ops/pooling/pool2d.c - MaxPool2d, AvgPool2d and AdaptiveAvgPool2d, see their
 * headers. They differ in their windows and in what they make of one. */
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <math.h>

const struct max_pool2d_attrs *max_pool2d_attrs(const struct node *node)
{
    assert(node->op == &op_max_pool2d);
    return node->attrs;
}

const struct avg_pool2d_attrs *avg_pool2d_attrs(const struct node *node)
{
    assert(node->op == &op_avg_pool2d);
    return node->attrs;
}

/* ---- windows ------------------------------------------------------------- */

/* The window of MaxPool2d or AvgPool2d. */
struct pool2d {
    const int64_t *kernel, *stride, *before, *after; /* vertical, horizontal */
    bool ceil, counts_padding;
};

static struct pool2d pool2d_of(const struct node *node)
{
    const struct max_pool2d_attrs *max = node->attrs;
    const struct avg_pool2d_attrs *avg = node->attrs;

    if (node->op == &op_max_pool2d)
        return (struct pool2d){max->kernel, max->stride, max->before,
                               max->after,  max->ceil,   false};
    return (struct pool2d){avg->kernel, avg->stride, avg->before,
                           avg->after,  avg->ceil,   avg->counts_padding};
}

static enum assay_status pool2d_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct pool2d pool = pool2d_of(node);
    enum assay_status st = rule_rank(inputs, 0, 4, err);
    struct shape y = inputs[0]->shape;

    if (st)
        return st;
    for (int i = 0; i < 2; i++) {
        y.dims[2 + i] =
            rule_windows(y.dims[2 + i], pool.kernel[i], pool.stride[i], 1,
                         pool.before[i], pool.after[i], pool.ceil);
        if (y.dims[2 + i] <= 0)
            return error_set(err, ASSAY_BAD_INPUT,
                             "a window of %lld does not fit into %lld",
                             (long long)pool.kernel[i],
                             (long long)inputs[0]->shape.dims[2 + i]);
        if (pool.kernel[i] > RULE_MAX_POOL)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "a window of %lld; at most %d is supported",
                             (long long)pool.kernel[i], RULE_MAX_POOL);
    }
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status
adaptive_avg_pool2d_infer(const struct node *node,
                          const struct tensor *const *inputs,
                          struct tensor *outputs, struct error *err)
{
    const struct adaptive_avg_pool2d_attrs *attrs = node->attrs;
    enum assay_status st = rule_rank(inputs, 0, 4, err);
    struct shape y = inputs[0]->shape;

    if (st)
        return st;
    if (y.dims[2] == 0 || y.dims[3] == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "an empty map of %lldx%lld has no mean",
                         (long long)y.dims[2], (long long)y.dims[3]);
    y.dims[2] = attrs->size[0];
    y.dims[3] = attrs->size[1];
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* The part of a window along one side that is inside the map: from `first` to
 * before `end`. `counted` is the length that a sum is divided by. */
struct reach {
    int64_t first, end, counted;
};

/* Window i of n along a side of `size` pixels. */
static struct reach pool2d_reach(const struct node *node, int side,
                                 int64_t size, int64_t i, int64_t n)
{
    int64_t from, to, padded;
    struct reach reach;
    struct pool2d pool;

    if (node->op == &op_adaptive_avg_pool2d) {
        reach.first = i * size / n;
        reach.end = ((i + 1) * size + n - 1) / n;
        reach.counted = reach.end - reach.first;
        return reach;
    }
    pool = pool2d_of(node);
    from = i * pool.stride[side] - pool.before[side];
    to = from + pool.kernel[side];
    padded = size + pool.after[side];
    reach.first = from < 0 ? 0 : from;
    reach.end = to > size ? size : to;
    /* What ceil adds after the padding never counts, as in PyTorch. */
    reach.counted = pool.counts_padding ? (to > padded ? padded : to) - from
                                        : reach.end - reach.first;
    return reach;
}

/* ---- kernels ------------------------------------------------------------- */

/* The index of the largest value, the first of equal ones; -1 if the window is
 * outside the map. */
static int64_t pool2d_find_max(const float *plane, int64_t width,
                               const struct reach *rows,
                               const struct reach *cols)
{
    int64_t found = -1;

    for (int64_t i = rows->first; i < rows->end; i++) {
        for (int64_t j = cols->first; j < cols->end; j++) {
            int64_t at = i * width + j;

            if (found < 0 || plane[at] > plane[found] || isnan(plane[at]))
                found = at;
        }
    }
    return found;
}

static float pool2d_mean(const float *plane, int64_t width,
                         const struct reach *rows, const struct reach *cols)
{
    float sum = 0;

    for (int64_t i = rows->first; i < rows->end; i++) {
        for (int64_t j = cols->first; j < cols->end; j++)
            sum += plane[i * width + j];
    }
    return sum / (float)(rows->counted * cols->counted);
}

static float pool2d_value(const struct node *node, const float *plane,
                          int64_t width, const struct reach *rows,
                          const struct reach *cols)
{
    int64_t at;

    if (node->op != &op_max_pool2d)
        return pool2d_mean(plane, width, rows, cols);
    at = pool2d_find_max(plane, width, rows, cols);
    return at < 0 ? -INFINITY : plane[at];
}

static enum assay_status pool2d_forward(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const int64_t *x = inputs[0]->shape.dims, *y = outputs[0].shape.dims;
    const float *plane = tensor_f32(inputs[0]);
    float *to = tensor_f32(&outputs[0]);

    (void)context, (void)err;
    for (int64_t c = 0; c < x[0] * x[1]; c++) {
        for (int64_t i = 0; i < y[2]; i++) {
            struct reach rows = pool2d_reach(node, 0, x[2], i, y[2]);

            for (int64_t j = 0; j < y[3]; j++) {
                struct reach cols = pool2d_reach(node, 1, x[3], j, y[3]);

                *to++ = pool2d_value(node, plane, x[3], &rows, &cols);
            }
        }
        plane += x[2] * x[3];
    }
    return ASSAY_OK;
}

/* Every value of a window gets its share of dy. */
static void pool2d_spread(float *dx, int64_t width, const struct reach *rows,
                          const struct reach *cols, float dy)
{
    float share = dy / (float)(rows->counted * cols->counted);

    for (int64_t i = rows->first; i < rows->end; i++) {
        for (int64_t j = cols->first; j < cols->end; j++)
            dx[i * width + j] += share;
    }
}

static void pool2d_pass_plane(const struct node *node,
                              const struct op_backward *pass, int64_t c)
{
    const int64_t *x = pass->inputs[0]->shape.dims;
    const int64_t *y = pass->dy[0]->shape.dims;
    const float *dy = tensor_f32(pass->dy[0]) + c * y[2] * y[3];
    float *dx = tensor_f32(&pass->dx[0]) + c * x[2] * x[3];

    for (int64_t k = 0; k < y[2] * y[3]; k++) {
        struct reach rows = pool2d_reach(node, 0, x[2], k / y[3], y[2]);
        struct reach cols = pool2d_reach(node, 1, x[3], k % y[3], y[3]);
        int64_t at;

        if (node->op != &op_max_pool2d) {
            pool2d_spread(dx, x[3], &rows, &cols, dy[k]);
            continue;
        }
        at = pool2d_find_max(tensor_f32(pass->inputs[0]) + c * x[2] * x[3],
                             x[3], &rows, &cols);
        if (at >= 0)
            dx[at] += dy[k];
    }
}

static enum assay_status pool2d_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    const int64_t *x = pass->inputs[0]->shape.dims;
    int parts = gradient_parts(context, tensor_elements(&pass->dx[0]));

    (void)err;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int64_t c = 0; c < x[0] * x[1]; c++)
        pool2d_pass_plane(node, pass, c);
    return ASSAY_OK;
}

static void avg_pool2d_cost(const struct node *node,
                            const struct tensor *const *inputs,
                            const struct tensor *outputs, struct cost *cost)
{
    const struct avg_pool2d_attrs *attrs = avg_pool2d_attrs(node);

    (void)inputs;
    cost->flops += tensor_elements(&outputs[0]) *
                   (uint64_t)(attrs->kernel[0] * attrs->kernel[1]);
}

/* ---- the classes --------------------------------------------------------- */

static void pool2d_to_onnx(struct onnx_sink *to)
{
    struct pool2d pool = pool2d_of(to->node);
    bool is_max = to->node->op == &op_max_pool2d;

    onnx_attr_ints(to, "kernel_shape", pool.kernel, 2);
    onnx_attr_ints(to, "strides", pool.stride, 2);
    onnx_attr_pads(to, pool.before, pool.after, 2);
    onnx_attr_int(to, "ceil_mode", pool.ceil);
    if (!is_max)
        onnx_attr_int(to, "count_include_pad", pool.counts_padding);
    onnx_put_node(to, is_max ? "MaxPool" : "AveragePool", 1);
}

/* ONNX only has windows of one size, which must divide the map. */
static void adaptive_avg_pool2d_to_onnx(struct onnx_sink *to)
{
    const struct adaptive_avg_pool2d_attrs *attrs = to->node->attrs;
    const struct shape *x = onnx_input_shape(to, 0);
    int64_t kernel[2];

    if (attrs->size[0] == 1 && attrs->size[1] == 1) {
        onnx_put_node(to, "GlobalAveragePool", 1);
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (!x || x->dims[2 + i] % attrs->size[i]) {
            onnx_refuse(to, "its windows differ in size for images of this "
                            "size; choose a size that they divide evenly");
            return;
        }
        kernel[i] = x->dims[2 + i] / attrs->size[i];
    }
    onnx_attr_ints(to, "kernel_shape", kernel, 2);
    onnx_attr_ints(to, "strides", kernel, 2);
    onnx_put_node(to, "AveragePool", 1);
}

static void max_pool2d_describe(const struct node *node,
                                const struct tensor *const *inputs,
                                const struct tensor *outputs,
                                struct layer_numbers *numbers)
{
    const struct max_pool2d_attrs *attrs = max_pool2d_attrs(node);

    (void)inputs, (void)outputs;
    numbers->taps = (double)(attrs->kernel[0] * attrs->kernel[1]);
}

#define POOL2D_FIELDS(type)                                                    \
    FIELD_SIZE(type, kernel), FIELD_SIZE(type, stride),                        \
        FIELD_AMOUNT(type, before), FIELD_AMOUNT(type, after),                 \
        FIELD_FLAG(type, ceil)
ATTR_FIELDS(max_pool2d, POOL2D_FIELDS(max_pool2d_attrs));
ATTR_FIELDS(avg_pool2d, POOL2D_FIELDS(avg_pool2d_attrs),
            FIELD_FLAG(avg_pool2d_attrs, counts_padding));
ATTR_FIELDS(adaptive_avg_pool2d, FIELD_SIZE(adaptive_avg_pool2d_attrs, size));

#define CLASS(symbol, text, inferred, written, kind, ...)                      \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(symbol),                                                      \
        OP_TAKES(1, 1),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = inferred,                                                     \
        .forward = pool2d_forward,                                             \
        .backward = pool2d_backward,                                           \
        .is_f32 = true,                                                        \
        .channels = channel_window,                                            \
        .to_onnx = written,                                                    \
        .counted = kind,                                                       \
        __VA_ARGS__,                                                           \
    };
CLASS(max_pool2d, "MaxPool2d", pool2d_infer, pool2d_to_onnx, COUNTED_MAX_POOL,
      .backward_reads = gradient_reads_input, .describe = max_pool2d_describe)
CLASS(avg_pool2d, "AvgPool2d", pool2d_infer, pool2d_to_onnx, COUNTED_AVG_POOL,
      .cost = avg_pool2d_cost)
CLASS(adaptive_avg_pool2d, "AdaptiveAvgPool2d", adaptive_avg_pool2d_infer,
      adaptive_avg_pool2d_to_onnx, COUNTED_AVG_POOL, .cost = rule_cost_input)
