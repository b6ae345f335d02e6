/* ops/math/reduce.c - see reduce.h.
 *
 * The reduced axes are moved to the end first, so that kernels work on rows. */
#include "ops/math/reduce.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"

#include <math.h>
#include <string.h>

enum {
    parallel_elements = 1 << 15,
    lanes = 16 /* partial results, so that rows are read as vectors */
};

/* ---- rows ------------------------------------------------------------- */

typedef void reduce_row(const void *x, void *y, size_t n);

#define SMALLER(a, b) ((a) < (b) || (a) != (a) ? (a) : (b))
#define LARGER(a, b)  ((a) > (b) || (a) != (a) ? (a) : (b))
#define SIZE_OF(x)    ((x) > 0 ? (x) : -(x))

/* Reduces n values of x to one: `step` adds value v to part p, `join` combines
 * parts p and v, `finish` makes the result from part p. */
#define ROW(function, type, part_type, start, step, join, finish)              \
    VARIANTS(void, function, (const void *from, void *to, size_t n),           \
             (from, to, n))                                                    \
    {                                                                          \
        const part_type count = (part_type)n;                                  \
        const type *x = from;                                                  \
        part_type parts[lanes], p;                                             \
        size_t i = 0;                                                          \
                                                                               \
        (void)count;                                                           \
        for (int k = 0; k < lanes; k++)                                        \
            parts[k] = start;                                                  \
        for (; i + lanes <= n; i += lanes) {                                   \
            for (int k = 0; k < lanes; k++) {                                  \
                const part_type v = (part_type)x[i + (size_t)k];               \
                                                                               \
                p = parts[k];                                                  \
                parts[k] = step;                                               \
            }                                                                  \
        }                                                                      \
        for (; i < n; i++) {                                                   \
            const part_type v = (part_type)x[i];                               \
                                                                               \
            p = parts[0];                                                      \
            parts[0] = step;                                                   \
        }                                                                      \
        p = parts[0];                                                          \
        for (int k = 1; k < lanes; k++) {                                      \
            const part_type v = parts[k];                                      \
                                                                               \
            p = join;                                                          \
        }                                                                      \
        *(type *)to = (type)(finish);                                          \
    }

/* X(symbol, start of floats, of int64, of uint64, step, join, finish) */
#define REDUCE_LIST(X)                                                         \
    X(sum, 0, 0, 0, p + v, p + v, p)                                           \
    X(mean, 0, 0, 0, p + v, p + v, p / (count > 0 ? count : 1))                \
    X(max, -INFINITY, INT64_MIN, 0, LARGER(p, v), LARGER(p, v), p)             \
    X(min, INFINITY, INT64_MAX, UINT64_MAX, SMALLER(p, v), SMALLER(p, v), p)   \
    X(prod, 1, 1, 1, p *v, p *v, p)                                            \
    X(l1, 0, 0, 0, p + SIZE_OF(v), p + v, p)                                   \
    X(l2, 0, 0, 0, p + v * v, p + v, sqrt((double)p))                          \
    X(log_sum, 0, 0, 0, p + v, p + v, log((double)p))                          \
    X(sum_square, 0, 0, 0, p + v * v, p + v, p)

#define ROWS(symbol, of_float, of_i64, of_u64, step, join, finish)             \
    ROW(symbol##_f32, float, double, of_float, step, join, finish)             \
    ROW(symbol##_f64, double, double, of_float, step, join, finish)            \
    ROW(symbol##_i64, int64_t, int64_t, of_i64, step, join, finish)            \
    ROW(symbol##_u64, uint64_t, uint64_t, of_u64, step, join, finish)
REDUCE_LIST(ROWS)

/* log(sum(exp(x))); subtracting the largest first avoids overflow. */
#define LOG_SUM_EXP(type)                                                      \
    static void log_sum_exp_##type(const void *from, void *to, size_t n)       \
    {                                                                          \
        const type *x = from;                                                  \
        double largest = -INFINITY, sum = 0;                                   \
                                                                               \
        for (size_t i = 0; i < n; i++)                                         \
            largest = LARGER((double)x[i], largest);                           \
        for (size_t i = 0; isfinite(largest) && i < n; i++)                    \
            sum += exp((double)x[i] - largest);                                \
        *(type *)to =                                                          \
            (type)(isfinite(largest) ? log(sum) + largest : largest);          \
    }
LOG_SUM_EXP(float)
LOG_SUM_EXP(double)
LOG_SUM_EXP(int64_t)
LOG_SUM_EXP(uint64_t)

static const struct {
    const struct op_class *op;
    reduce_row *f32, *f64, *i64, *u64;
} reductions[] = {
#define ENTRY(symbol, of_float, of_i64, of_u64, step, join, finish)            \
    {&op_reduce_##symbol, symbol##_f32, symbol##_f64, symbol##_i64,            \
     symbol##_u64},
    REDUCE_LIST(ENTRY){&op_reduce_log_sum_exp, log_sum_exp_float,
                       log_sum_exp_double, log_sum_exp_int64_t,
                       log_sum_exp_uint64_t},
};

static reduce_row *reduce_find_row(const struct node *node, enum dtype dtype)
{
    size_t i = 0;

    while (reductions[i].op != node->op)
        i++;
    if (dtype == DTYPE_F32)
        return reductions[i].f32;
    if (dtype == DTYPE_F64)
        return reductions[i].f64;
    if (dtype == DTYPE_I64)
        return reductions[i].i64;
    return dtype == DTYPE_U64 ? reductions[i].u64 : NULL;
}

/* ---- axes ------------------------------------------------------------- */

static enum assay_status reduce_get_axes(const struct node *node,
                                         const struct tensor *const *inputs,
                                         unsigned *axes, struct error *err)
{
    const struct reduce_attrs *attrs = node->attrs;
    int rank = inputs[0]->shape.rank;
    struct int_list list;
    enum assay_status st = int_list_read(op_input(node, inputs, 1), &list, err);

    if (!st)
        st = axes_resolve(&list, rank, axes, err);
    if (!st && list.n == 0 && !attrs->empty_is_none)
        *axes = (1U << rank) - 1;
    return st;
}

static enum assay_status reduce_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    const struct reduce_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    struct shape y = {0};
    unsigned axes;
    enum assay_status st = reduce_get_axes(node, inputs, &axes, err);

    if (st)
        return st;
    for (int i = 0; i < x->rank; i++) {
        if (!(axes >> i & 1))
            y.dims[y.rank++] = x->dims[i];
        else if (attrs->keeps_dims)
            y.dims[y.rank++] = 1;
    }
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

/* x with the axes of the mask moved to the end; shared if they are there
 * already. */
static enum assay_status reduce_move_axes(const struct op_context *context,
                                          const struct tensor *x, unsigned axes,
                                          struct tensor *out, struct error *err)
{
    struct strides dense = strides_dense(&x->shape), from = {{0}};
    struct shape shape = {.rank = x->shape.rank};
    bool is_last = true;
    int at = 0;
    enum assay_status st;

    for (unsigned reduced = 0; reduced < 2; reduced++) {
        for (int i = 0; i < shape.rank; i++) {
            if ((axes >> i & 1) != reduced)
                continue;
            is_last = is_last && at == i;
            from.of[at] = dense.of[i];
            shape.dims[at++] = x->shape.dims[i];
        }
    }
    if (is_last) {
        *out = tensor_share(x);
        return ASSAY_OK;
    }
    st = tensor_new(context->pool, x->dtype, &shape, out, err);
    if (!st)
        strided_take(context, x, 0, &from, out);
    return st;
}

static enum assay_status reduce_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    reduce_row *row = reduce_find_row(node, inputs[0]->dtype);
    size_t n = 1, rows = tensor_elements(&outputs[0]);
    size_t bytes = dtype_bytes(inputs[0]->dtype);
    struct tensor moved = {0};
    unsigned axes;
    const char *from;
    char *to;
    enum assay_status st = reduce_get_axes(node, inputs, &axes, err);

    if (!st && !row)
        st = rule_undefined(node, inputs[0]->dtype, err);
    if (!st)
        st = reduce_move_axes(context, inputs[0], axes, &moved, err);
    if (st)
        return st;
    for (int i = 0; i < inputs[0]->shape.rank; i++)
        n *= axes >> i & 1 ? (size_t)inputs[0]->shape.dims[i] : 1;
    from = tensor_data(&moved);
    to = tensor_data(&outputs[0]);
#pragma omp parallel for num_threads(                                          \
    op_threads(context)) if (rows * n > parallel_elements)
    for (size_t i = 0; i < rows; i++)
        row(from + i * n * bytes, to + i * bytes, n);
    tensor_release(&moved);
    return ASSAY_OK;
}

WIDEN_FORWARD(reduce_forward, reduce_kernel)

/* ---- backward --------------------------------------------------------- */

/* X(symbol, slope at one of n values x, whether it reads x, y) */
#define SLOPE_LIST(X)                                                          \
    X(sum, 1, 0, 0)                                                            \
    X(mean, 1 / n, 0, 0)                                                       \
    X(l1, x > 0 ? 1 : x < 0 ? -1 : 0, 1, 0)                                    \
    X(l2, y > 0 ? x / y : 0, 1, 1)                                             \
    X(log_sum, expf(-y), 0, 1)                                                 \
    X(log_sum_exp, expf(x - y), 1, 1)                                          \
    X(sum_square, 2 * x, 1, 0)                                                 \
    X(max, x == y ? 1 : 0, 1, 1)                                               \
    X(min, x == y ? 1 : 0, 1, 1)

/* A row of x; the elements of y they were reduced to are y_step apart. */
struct slope_row {
    const float *x, *y, *dy;
    float *dx;
    int64_t length, y_step;
    float n;
};

typedef void slope_kernel(const struct slope_row *row);

#define SLOPE_ROW(symbol, slope, reads_x, reads_y)                             \
    static void symbol##_slope(const struct slope_row *row)                    \
    {                                                                          \
        const float n = row->n;                                                \
                                                                               \
        (void)n;                                                               \
        for (int64_t i = 0; i < row->length; i++) {                            \
            const float x = reads_x ? row->x[i] : 0;                           \
            const float y = reads_y ? row->y[i * row->y_step] : 0;             \
                                                                               \
            (void)x, (void)y;                                                  \
            row->dx[i] = row->dy[i * row->y_step] * (slope);                   \
        }                                                                      \
    }
SLOPE_LIST(SLOPE_ROW)

static const struct slope {
    const struct op_class *op;
    slope_kernel *kernel;
    bool reads_x, reads_y;
} slopes[] = {
#define SLOPE_ENTRY(symbol, slope, reads_x, reads_y)                           \
    {&op_reduce_##symbol, symbol##_slope, reads_x, reads_y},
    SLOPE_LIST(SLOPE_ENTRY)};

static const struct slope *find_slope(const struct node *node)
{
    const struct slope *slope = slopes;

    while (slope->op != node->op)
        slope++;
    return slope;
}

static struct op_reads reduce_backward_reads(const struct node *node,
                                             uint64_t wanted)
{
    const struct slope *slope = find_slope(node);
    struct op_reads reads = gradient_reads_settings(node, wanted);

    reads.inputs |= slope->reads_x;
    reads.outputs = slope->reads_y;
    return reads;
}

/* Strides through y while walking x: 0 along reduced axes. */
static struct strides steps_in_y(const struct shape *x, unsigned axes)
{
    struct strides strides = {{0}};
    int64_t step = 1;

    for (int i = x->rank - 1; i >= 0; i--) {
        if (axes >> i & 1)
            continue;
        strides.of[i] = step;
        step *= x->dims[i];
    }
    return strides;
}

/* For ReduceMax and ReduceMin, dy divided by how many elements of x equal y;
 * for others dy itself, shared. */
static enum assay_status
reduce_share_ties(const struct op_context *context, const struct node *node,
                  const struct op_backward *pass, const struct walk *start,
                  struct tensor *out, struct error *err)
{
    const struct tensor *y = &pass->outputs[0];
    struct walk walk = *start;
    enum assay_status st;

    if (node->op != &op_reduce_max && node->op != &op_reduce_min) {
        *out = tensor_share(pass->dy[0]);
        return ASSAY_OK;
    }
    st = tensor_new(context->pool, DTYPE_F32, &y->shape, out, err);
    if (st)
        return st;
    memset(tensor_data(out), 0, tensor_bytes(out));
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        const float *x = tensor_f32(pass->inputs[0]) + walk.at[0];

        for (int64_t i = 0; i < walk.length; i++) {
            int64_t at = walk.at[1] + i * walk.steps[1];

            tensor_f32(out)[at] += x[i] == tensor_f32(y)[at];
        }
    }
    for (size_t i = 0; i < tensor_elements(out); i++)
        tensor_f32(out)[i] = tensor_f32(pass->dy[0])[i] / tensor_f32(out)[i];
    return ASSAY_OK;
}

static enum assay_status reduce_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    const struct slope *slope = find_slope(node);
    const struct shape *x = &pass->dx[0].shape;
    size_t n_x = tensor_elements(&pass->dx[0]);
    size_t n_y = tensor_elements(pass->dy[0]);
    int parts = gradient_parts(context, n_x);
    struct tensor dy = {0};
    struct walk walk;
    unsigned axes;
    enum assay_status st = reduce_get_axes(node, pass->inputs, &axes, err);

    if (st || !n_x)
        return st;
    walk = walk_start(
        x, (struct strides[]){strides_dense(x), steps_in_y(x, axes)}, 2);
    st = reduce_share_ties(context, node, pass, &walk, &dy, err);
    if (st)
        return st;
#pragma omp parallel for num_threads(parts) if (parts > 1)
    for (int part = 0; part < parts; part++) {
        int64_t first = walk.n_rows * part / parts;
        int64_t last = walk.n_rows * (part + 1) / parts;
        struct walk now = walk;

        walk_seek(&now, first);
        for (int64_t i = first; i < last; i++, walk_next(&now))
            slope->kernel(&(struct slope_row){
                .x = slope->reads_x ? tensor_f32(pass->inputs[0]) + now.at[0]
                                    : NULL,
                .y = slope->reads_y ? tensor_f32(&pass->outputs[0]) + now.at[1]
                                    : NULL,
                .dy = tensor_f32(&dy) + now.at[1],
                .dx = tensor_f32(&pass->dx[0]) + now.at[0],
                .length = now.length,
                .y_step = now.steps[1],
                .n = (float)n_x / (float)n_y});
    }
    tensor_release(&dy);
    return ASSAY_OK;
}

/* Whether dimension d is reduced. */
static bool reduce_takes(const struct tensor *axes, int d, int rank)
{
    for (size_t i = 0; axes && i < tensor_elements(axes); i++) {
        if (channels_axis(tensor_i64(axes)[i], rank) == d)
            return true;
    }
    return !axes;
}

static void reduce_channels(struct channels *channels, const struct node *node)
{
    const struct reduce_attrs *attrs = node->attrs;
    const struct tensor *axes =
        node->n_inputs > 1 ? channels_numbers(channels, node->inputs[1]) : NULL;
    const struct shape *in, *out;
    int to = 0;

    if (!channels_shapes(channels, node, &in, &out))
        return;
    for (int d = 0; d < in->rank; d++) {
        struct labels x = channels_of(channels, node->inputs[0], d);

        if (reduce_takes(axes, d, in->rank)) {
            channels_fix(channels, x);
            to += attrs->keeps_dims;
        } else {
            channels_set(channels, node->outputs[0], to++, x);
        }
    }
}

/* ONNX has the axes as an input of ReduceSum and an attribute of the others. */
static void reduce_to_onnx(struct onnx_sink *to)
{
    const struct reduce_attrs *attrs = to->node->attrs;
    const struct node *node = to->node;
    bool is_sum = node->op == &op_reduce_sum;
    uint32_t axes = node->n_inputs > 1 ? node->inputs[1] : GRAPH_NONE;

    onnx_attr_int(to, "keepdims", attrs->keeps_dims);
    if (is_sum)
        onnx_attr_int(to, "noop_with_empty_axes", attrs->empty_is_none);
    if (!is_sum && axes != GRAPH_NONE) {
        const struct tensor *list = &graph_value(to->graph, axes)->data;

        if (!list->buffer || list->dtype != DTYPE_I64) {
            onnx_refuse(to, "its axes are computed, not constant");
            return;
        }
        onnx_attr_ints(to, "axes", tensor_i64(list), tensor_elements(list));
    }
    onnx_put_node(to, node->op->name, is_sum ? 2 : 1);
}

ATTR_FIELDS(reduce, FIELD_FLAG(reduce_attrs, keeps_dims),
            FIELD_FLAG(reduce_attrs, empty_is_none));

#define CLASS(symbol, text, passes, reads, ...)                                \
    const struct op_class op_reduce_##symbol = {                               \
        .name = text,                                                          \
        OP_ATTRS(reduce),                                                      \
        OP_TAKES(1, 2),                                                        \
        OP_MAKES(1, 1),                                                        \
        .infer = reduce_infer,                                                 \
        .host_inputs = OP_INPUT(1),                                            \
        .forward = reduce_forward,                                             \
        .cost = rule_cost_input,                                               \
        .backward = passes,                                                    \
        .backward_reads = reads,                                               \
        __VA_ARGS__,                                                           \
    };
#define SMOOTH_CLASS(symbol, text, ruled, written, as)                         \
    CLASS(symbol, text, reduce_backward, reduce_backward_reads,                \
          .channels = ruled, .to_onnx = written, .counted = as)
SMOOTH_CLASS(sum, "ReduceSum", reduce_channels, reduce_to_onnx, COUNTED_NOT)
SMOOTH_CLASS(mean, "ReduceMean", reduce_channels, reduce_to_onnx, COUNTED_MEAN)
SMOOTH_CLASS(max, "ReduceMax", reduce_channels, reduce_to_onnx, COUNTED_NOT)
SMOOTH_CLASS(min, "ReduceMin", reduce_channels, reduce_to_onnx, COUNTED_NOT)
SMOOTH_CLASS(l1, "ReduceL1", NULL, reduce_to_onnx, COUNTED_NOT)
SMOOTH_CLASS(l2, "ReduceL2", NULL, reduce_to_onnx, COUNTED_NOT)
SMOOTH_CLASS(log_sum, "ReduceLogSum", NULL, NULL, COUNTED_NOT)
SMOOTH_CLASS(log_sum_exp, "ReduceLogSumExp", NULL, NULL, COUNTED_NOT)
SMOOTH_CLASS(sum_square, "ReduceSumSquare", NULL, NULL, COUNTED_NOT)
CLASS(prod, "ReduceProd", NULL, NULL, .to_onnx = reduce_to_onnx)
