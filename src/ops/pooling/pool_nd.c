/* ops/pooling/pool_nd.c - see pool_nd.h. */
#include "ops/pooling/pool_nd.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

#include <math.h>
#include <string.h>

/* A window at one position in a channel. */
struct view {
    const struct pool_nd_attrs *attrs;
    const struct fitted_window *window;
    const float *x; /* the channel */
    struct window_place place;
};

/* Calls the body with the index `at` in the channel of every element that the
 * window holds. */
#define FOR_WINDOW(view)                                                       \
    for (int64_t i = (view)->place.first[0]; i < (view)->place.end[0]; i++)    \
        for (int64_t j = (view)->place.first[1]; j < (view)->place.end[1];     \
             j++)                                                              \
            for (int64_t k = (view)->place.first[2],                           \
                         at = view_index(view, i, j, k);                       \
                 k < (view)->place.end[2];                                     \
                 k++, at += (view)->window->dilation[2])

/* Index in the channel of a step of the window. */
static int64_t view_index(const struct view *view, int64_t i, int64_t j,
                          int64_t k)
{
    return window_row(view->window, &view->place, i, j) +
           k * view->window->dilation[2];
}

/* Index of the largest, the first of equal ones; -1 if nothing is inside. */
static int64_t pool_nd_find_largest(const struct view *view)
{
    int64_t best = -1;

    FOR_WINDOW(view)
    {
        if (best < 0 || view->x[at] > view->x[best] || isnan(view->x[at]))
            best = at;
    }
    return best;
}

/* How many elements a mean is divided by. */
static int64_t pool_nd_count_steps(const struct view *view)
{
    int64_t n = 1;

    for (int i = 0; i < WINDOW_MAX_RANK; i++) {
        const struct fitted_window *window = view->window;
        int64_t room = window->in[i] + window->after[i] - view->place.begin[i];
        int64_t steps = view->place.end[i] - view->place.first[i];

        if (view->attrs->counts_padding) {
            steps = (room + window->dilation[i] - 1) / window->dilation[i];
            if (steps > window->kernel[i])
                steps = window->kernel[i];
        }
        n *= steps;
    }
    return n;
}

static float pool_nd_mean_of(const struct view *view)
{
    double sum = 0;

    FOR_WINDOW(view)
    sum += view->x[at];
    return (float)(sum / (double)pool_nd_count_steps(view));
}

static float norm_of(const struct view *view)
{
    double sum = 0, power = (double)view->attrs->power;

    FOR_WINDOW(view)
    sum += pow(fabs((double)view->x[at]), power);
    return (float)pow(sum, 1 / power);
}

/* The index of an element in x, as MaxUnpool counts it. */
static int64_t pool_nd_place_of(const struct view *view, int64_t channel,
                                int64_t index)
{
    const int64_t *in = view->window->in;
    int64_t size = window_volume(in), i, j, k;

    if (!view->attrs->is_by_column)
        return channel * size + index;
    i = index / (in[1] * in[2]);
    j = index / in[2] % in[1];
    k = index % in[2];
    return channel * size + (k * in[1] + j) * in[0] + i;
}

static void pool_position(const struct node *node, const struct view *view,
                          int64_t channel, struct tensor *outputs, size_t to)
{
    float *y = tensor_f32(&outputs[0]);

    if (node->op == &op_avg_pool_nd) {
        y[to] = pool_nd_mean_of(view);
    } else if (node->op == &op_lp_pool_nd) {
        y[to] = norm_of(view);
    } else {
        int64_t best = pool_nd_find_largest(view);

        y[to] = best < 0 ? -INFINITY : view->x[best];
        if (node->n_outputs > 1)
            tensor_i64(&outputs[1])[to] =
                best < 0 ? 0 : pool_nd_place_of(view, channel, best);
    }
}

static void pool_channel(const struct node *node,
                         const struct fitted_window *window, const float *x,
                         int64_t channel, struct tensor *outputs)
{
    struct view view = {.attrs = node->attrs, .window = window};
    const int64_t *out = window->out;
    size_t to = (size_t)(channel * window_volume(out));
    int64_t at[WINDOW_MAX_RANK];

    view.x = x + channel * window_volume(window->in);
    for (at[0] = 0; at[0] < out[0]; at[0]++) {
        for (at[1] = 0; at[1] < out[1]; at[1]++) {
            for (at[2] = 0; at[2] < out[2]; at[2]++) {
                view.place = window_place(window, at);
                pool_position(node, &view, channel, outputs, to++);
            }
        }
    }
}

static enum assay_status pool_nd_infer(const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    const struct pool_nd_attrs *attrs = node->attrs;
    struct fitted_window fitted;
    enum assay_status st =
        window_fit(&attrs->window, &inputs[0]->shape, &fitted, err);
    struct shape y = inputs[0]->shape;

    if (!st)
        st = rule_dtype(inputs, 0, DTYPE_F32, err);
    if (st)
        return st;
    window_shape(&attrs->window, &fitted, &y);
    for (size_t i = 0; i < node->n_outputs; i++)
        rule_set(&outputs[i], i ? DTYPE_I64 : DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status pool_nd_forward(const struct op_context *context,
                                         const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct pool_nd_attrs *attrs = node->attrs;
    int64_t n = inputs[0]->shape.dims[0] * inputs[0]->shape.dims[1];
    const float *x = tensor_f32(inputs[0]);
    struct fitted_window fitted;
    enum assay_status st =
        window_fit(&attrs->window, &inputs[0]->shape, &fitted, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < n; i++)
        pool_channel(node, &fitted, x, i, outputs);
    return ASSAY_OK;
}

/* ---- backward --------------------------------------------------------- */

static struct op_reads reads_of_norm(const struct node *node, uint64_t wanted)
{
    (void)node;
    return (struct op_reads){.inputs = wanted & 1, .outputs = wanted & 1};
}

/* The share of dy that an element of a window gets: of a mean, or of a norm
 * with the result y. */
static float pool_nd_share_of(const struct node *node, const struct view *view,
                              int64_t at, float y)
{
    double x, power = (double)view->attrs->power;

    if (node->op == &op_avg_pool_nd)
        return 1 / (float)pool_nd_count_steps(view);
    x = (double)view->x[at];
    if (x == 0 || y == 0)
        return 0;
    return (float)(copysign(pow(fabs(x), power - 1), x) *
                   pow((double)y, 1 - power));
}

static void pass_position(const struct node *node, const struct view *view,
                          float dy, float y, float *dx)
{
    if (node->op == &op_max_pool_nd) {
        int64_t best = pool_nd_find_largest(view);

        if (best >= 0)
            dx[best] += dy;
        return;
    }
    FOR_WINDOW(view)
    dx[at] += dy * pool_nd_share_of(node, view, at, y);
}

static void pool_nd_pass_channel(const struct node *node,
                                 const struct fitted_window *window,
                                 const struct op_backward *pass,
                                 int64_t channel)
{
    const int64_t *out = window->out;
    int64_t size = window_volume(window->in), n = window_volume(out);
    struct view view = {.attrs = node->attrs, .window = window};
    const float *dy = tensor_f32(pass->dy[0]) + channel * n;
    const float *y = dy;

    if (pass->inputs[0]->buffer)
        view.x = tensor_f32(pass->inputs[0]) + channel * size;
    if (pass->outputs[0].buffer)
        y = tensor_f32(&pass->outputs[0]) + channel * n;
    for (int64_t i = 0; i < n; i++) {
        view.place =
            window_place(window, (int64_t[]){i / out[2] / out[1],
                                             i / out[2] % out[1], i % out[2]});
        pass_position(node, &view, dy[i], y[i],
                      tensor_f32(&pass->dx[0]) + channel * size);
    }
}

static enum assay_status pool_nd_backward(const struct op_context *context,
                                          const struct node *node,
                                          const struct op_backward *pass,
                                          struct error *err)
{
    const struct pool_nd_attrs *attrs = node->attrs;
    const struct shape *x = &pass->inputs[0]->shape;
    struct fitted_window fitted;
    enum assay_status st = window_fit(&attrs->window, x, &fitted, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < x->dims[0] * x->dims[1]; i++)
        pool_nd_pass_channel(node, &fitted, pass, i);
    return ASSAY_OK;
}

static void pool_nd_to_onnx(struct onnx_sink *to)
{
    const struct pool_nd_attrs *attrs = to->node->attrs;
    const struct window *window = &attrs->window;
    bool is_max = to->node->op == &op_max_pool_nd;

    for (int i = 0; i < window->rank; i++) {
        if (!is_max && window->dilation[i] != 1)
            onnx_refuse(to, "its mean is dilated");
    }
    onnx_attr_ints(to, "kernel_shape", window->kernel, (size_t)window->rank);
    onnx_attr_ints(to, "strides", window->stride, (size_t)window->rank);
    window_pads_to_onnx(to, window);
    onnx_attr_int(to, "ceil_mode", window->ceil);
    if (is_max) {
        onnx_attr_ints(to, "dilations", window->dilation, (size_t)window->rank);
        onnx_attr_int(to, "storage_order", attrs->is_by_column);
    } else {
        onnx_attr_int(to, "count_include_pad", attrs->counts_padding);
    }
    onnx_put_node(to, is_max ? "MaxPool" : "AveragePool", 1);
}

static void pool_nd_describe(const struct node *node,
                             const struct tensor *const *inputs,
                             const struct tensor *outputs,
                             struct layer_numbers *numbers)
{
    const struct pool_nd_attrs *attrs = node->attrs;

    (void)inputs, (void)outputs;
    numbers->taps = 1;
    for (int i = 0; i < attrs->window.rank; i++)
        numbers->taps *= (double)attrs->window.kernel[i];
}

ATTR_FIELDS(pool_nd, FIELD_WINDOW(pool_nd_attrs),
            FIELD_FLAG(pool_nd_attrs, counts_padding),
            FIELD_FLAG(pool_nd_attrs, is_by_column),
            FIELD_AMOUNT(pool_nd_attrs, power));

#define CLASS(symbol, text, most, reads, ...)                                  \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(pool_nd),                                                     \
        OP_TAKES(1, 1),                                                        \
        OP_MAKES(1, most),                                                     \
        .infer = pool_nd_infer,                                                \
        .forward = pool_nd_forward,                                            \
        .backward = pool_nd_backward,                                          \
        .backward_reads = reads,                                               \
        .is_f32 = true,                                                        \
        .channels = channel_window,                                            \
        __VA_ARGS__,                                                           \
    };
CLASS(max_pool_nd, "MaxPoolNd", 2, gradient_reads_input,
      .to_onnx = pool_nd_to_onnx, .counted = COUNTED_MAX_POOL,
      .describe = pool_nd_describe)
CLASS(avg_pool_nd, "AvgPoolNd", 1, NULL, .to_onnx = pool_nd_to_onnx,
      .counted = COUNTED_AVG_POOL)
CLASS(lp_pool_nd, "LpPoolNd", 1, reads_of_norm, .counted = COUNTED_NOT)

/* ---- MaxUnpool ------------------------------------------------------------
 */

enum unpool_input { UNPOOL_X, UNPOOL_INDICES, UNPOOL_SHAPE };

/* The shape that a pooling with this window was made from. */
static enum assay_status unpooled(const struct node *node,
                                  const struct shape *x, struct shape *y,
                                  struct error *err)
{
    const struct pool_nd_attrs *attrs = node->attrs;
    const struct window *window = &attrs->window;
    char text[64];

    *y = *x;
    if (x->rank != window->rank + 2)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a window of rank %d does not fit %s", window->rank,
                         shape_text(x, text, sizeof text));
    for (int i = 0; i < window->rank; i++)
        y->dims[2 + i] = (x->dims[2 + i] - 1) * window->stride[i] +
                         window->kernel[i] - window->before[i] -
                         window->after[i];
    return ASSAY_OK;
}

static enum assay_status max_unpool_infer(const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct tensor *given = op_input(node, inputs, UNPOOL_SHAPE);
    struct int_list list;
    struct shape y;
    enum assay_status st = indices_check(inputs, UNPOOL_INDICES, err);

    if (!st)
        st = unpooled(node, &inputs[UNPOOL_X]->shape, &y, err);
    if (!st)
        st = int_list_read(given, &list, err);
    if (!st && given && list.n != (size_t)y.rank)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "a shape of %zu dimensions does not fit rank %d", list.n,
                       y.rank);
    if (st)
        return st;
    for (size_t i = 0; i < list.n; i++)
        y.dims[i] = list.of[i];
    rule_set(&outputs[0], inputs[UNPOOL_X]->dtype, &y);
    return ASSAY_OK;
}

/* Turns an index into `from`, which may be a corner of `to`, into one into
 * `to`. */
static int64_t move_index(const struct shape *from, const struct shape *to,
                          int64_t index)
{
    int64_t moved = 0, step = 1;

    for (int i = from->rank - 1; i >= 0; i--) {
        moved += index % from->dims[i] * step;
        index /= from->dims[i];
        step *= to->dims[i];
    }
    return moved;
}

static enum assay_status max_unpool_kernel(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    const struct tensor *x = inputs[UNPOOL_X];
    const int64_t *indices = tensor_data(inputs[UNPOOL_INDICES]);
    size_t n = tensor_elements(x), bytes = dtype_bytes(x->dtype);
    const char *from = tensor_data(x);
    char *to = tensor_data(&outputs[0]);
    struct shape counted;
    enum assay_status st = unpooled(node, &x->shape, &counted, err);

    (void)context;
    if (!st && tensor_elements(inputs[UNPOOL_INDICES]) != n)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu indices for %zu values",
                       tensor_elements(inputs[UNPOOL_INDICES]), n);
    for (int i = 0; !st && i < counted.rank; i++) {
        if (counted.dims[i] < 1)
            st = error_set(err, ASSAY_BAD_INPUT,
                           "the window and its padding leave nothing");
    }
    if (st)
        return st;
    memset(to, 0, tensor_bytes(&outputs[0]));
    for (size_t i = 0; i < n; i++) {
        int64_t at = indices[i] < 0
                         ? -1
                         : move_index(&counted, &outputs[0].shape, indices[i]);

        if (at < 0 || at >= (int64_t)tensor_elements(&outputs[0]))
            return error_set(err, ASSAY_BAD_INPUT,
                             "index %lld is outside the result",
                             (long long)indices[i]);
        memcpy(to + (size_t)at * bytes, from + i * bytes, bytes);
    }
    return ASSAY_OK;
}

WIDEN_FORWARD(max_unpool_forward, max_unpool_kernel)

const struct op_class op_max_unpool = {
    .name = "MaxUnpool",
    OP_ATTRS(pool_nd),
    OP_TAKES(2, 3),
    OP_MAKES(1, 1),
    .infer = max_unpool_infer,
    .host_inputs = OP_INPUT(UNPOOL_SHAPE),
    .forward = max_unpool_forward,
};
