/* ops/math/arg_max.c - see arg_max.h. */
#include "ops/math/arg_max.h"

#include "ops/attr_fields.h"
#include "ops/int_list_internal.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"
#include "ops/widen_internal.h"

/* x as outer x n x inner, where n is the axis. */
struct lines {
    int64_t outer, n, inner;
};

static struct lines arg_max_get_lines(const struct shape *x, int axis)
{
    return (struct lines){shape_span(x, 0, axis), x->dims[axis],
                          shape_span(x, axis + 1, x->rank)};
}

static enum assay_status arg_infer(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct tensor *outputs, struct error *err)
{
    const struct arg_max_attrs *attrs = node->attrs;
    const struct shape *x = &inputs[0]->shape;
    struct shape y = {0};
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->rank, &axis, err);

    for (int i = 0; !st && i < x->rank; i++) {
        if (i != axis)
            y.dims[y.rank++] = x->dims[i];
        else if (attrs->keeps_dims)
            y.dims[y.rank++] = 1;
    }
    if (!st && x->dims[axis] == 0)
        st = error_set(err, ASSAY_BAD_INPUT, "axis %d is empty", axis);
    rule_set(&outputs[0], DTYPE_I64, &y);
    return st;
}

/* The index of the largest or smallest of n values. */
#define BEST(name, type)                                                       \
    static int64_t name(const type *x, int64_t n, int64_t step, bool is_max,   \
                        bool takes_last)                                       \
    {                                                                          \
        int64_t best = 0;                                                      \
                                                                               \
        for (int64_t i = 1; i < n; i++) {                                      \
            type a = x[i * step], b = x[best * step];                          \
                                                                               \
            if ((is_max ? a > b : a < b) || (takes_last && a == b))            \
                best = i;                                                      \
        }                                                                      \
        return best;                                                           \
    }
BEST(best_f32, float)
BEST(best_f64, double)
BEST(best_i64, int64_t)
BEST(best_u64, uint64_t)

static int64_t find_best(const struct tensor *x, int64_t at, int64_t n,
                         int64_t step, bool is_max, bool takes_last)
{
    const void *data = tensor_data(x);

    switch (x->dtype) {
    case DTYPE_F32:
        return best_f32((const float *)data + at, n, step, is_max, takes_last);
    case DTYPE_F64:
        return best_f64((const double *)data + at, n, step, is_max, takes_last);
    case DTYPE_I64:
        return best_i64((const int64_t *)data + at, n, step, is_max,
                        takes_last);
    default:
        return best_u64((const uint64_t *)data + at, n, step, is_max,
                        takes_last);
    }
}

static enum assay_status arg_kernel(const struct op_context *context,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct arg_max_attrs *attrs = node->attrs;
    const struct tensor *x = inputs[0];
    int64_t *y = tensor_i64(&outputs[0]);
    struct lines lines;
    int axis;
    enum assay_status st = axis_resolve(attrs->axis, x->shape.rank, &axis, err);

    (void)context;
    if (!st && x->dtype == DTYPE_BOOL)
        st = rule_undefined(node, x->dtype, err);
    if (st)
        return st;
    lines = arg_max_get_lines(&x->shape, axis);
    for (int64_t i = 0; i < lines.outer; i++) {
        for (int64_t k = 0; k < lines.inner; k++)
            *y++ = find_best(x, i * lines.n * lines.inner + k, lines.n,
                             lines.inner, node->op == &op_arg_max,
                             attrs->takes_last);
    }
    return ASSAY_OK;
}

WIDEN_FORWARD(arg_forward, arg_kernel)

/* ---- CumSum, CumProd ---------------------------------------------------- */

#define SUM_LINE(name, type, start, join)                                      \
    static void name(const struct cum_sum_attrs *attrs, const type *x,         \
                     type *y, int64_t n, int64_t step)                         \
    {                                                                          \
        type sum = (start);                                                    \
                                                                               \
        for (int64_t i = 0; i < n; i++) {                                      \
            int64_t at = (attrs->is_reverse ? n - 1 - i : i) * step;           \
            type before = sum;                                                 \
                                                                               \
            sum = (type)(sum join x[at]);                                      \
            y[at] = attrs->is_exclusive ? before : sum;                        \
        }                                                                      \
    }
SUM_LINE(sum_f32, float, 0, +)
SUM_LINE(sum_f64, double, 0, +)
SUM_LINE(sum_u64, uint64_t, 0, +) /* for signed integers too */
SUM_LINE(product_f32, float, 1, *)
SUM_LINE(product_f64, double, 1, *)
SUM_LINE(product_u64, uint64_t, 1, *)

static enum assay_status cum_sum_kernel(const struct op_context *context,
                                        const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct shape *shape = &inputs[0]->shape;
    bool is_sum = node->op == &op_cum_sum;
    const void *x = tensor_data(inputs[0]);
    void *y = tensor_data(&outputs[0]);
    struct lines lines;
    int64_t named;
    int axis;
    enum assay_status st = int_read(inputs[1], 0, &named, err);

    (void)context;
    if (!st)
        st = axis_resolve(named, shape->rank, &axis, err);
    if (st)
        return st;
    lines = arg_max_get_lines(shape, axis);
    for (int64_t i = 0; i < lines.outer * lines.inner; i++) {
        int64_t at = i / lines.inner * lines.n * lines.inner + i % lines.inner;

        if (inputs[0]->dtype == DTYPE_F32)
            (is_sum ? sum_f32 : product_f32)(node->attrs, (const float *)x + at,
                                             (float *)y + at, lines.n,
                                             lines.inner);
        else if (inputs[0]->dtype == DTYPE_F64)
            (is_sum ? sum_f64
                    : product_f64)(node->attrs, (const double *)x + at,
                                   (double *)y + at, lines.n, lines.inner);
        else
            (is_sum ? sum_u64
                    : product_u64)(node->attrs, (const uint64_t *)x + at,
                                   (uint64_t *)y + at, lines.n, lines.inner);
    }
    return ASSAY_OK;
}

WIDEN_FORWARD(cum_sum_forward, cum_sum_kernel)

ATTR_FIELDS(arg_max, FIELD_AXIS(arg_max_attrs, axis),
            FIELD_FLAG(arg_max_attrs, keeps_dims),
            FIELD_FLAG(arg_max_attrs, takes_last));
ATTR_FIELDS(cum_sum, FIELD_FLAG(cum_sum_attrs, is_exclusive),
            FIELD_FLAG(cum_sum_attrs, is_reverse));

#define CLASS(symbol, text, attrs, n_inputs, inferred, run)                    \
    const struct op_class op_##symbol = {                                      \
        .name = text,                                                          \
        OP_ATTRS(attrs),                                                       \
        OP_TAKES(n_inputs, n_inputs),                                          \
        OP_MAKES(1, 1),                                                        \
        .infer = inferred,                                                     \
        .host_inputs = OP_INPUT(1),                                            \
        .forward = run,                                                        \
    };
CLASS(arg_max, "ArgMax", arg_max, 1, arg_infer, arg_forward)
CLASS(arg_min, "ArgMin", arg_max, 1, arg_infer, arg_forward)
CLASS(cum_sum, "CumSum", cum_sum, 2, rule_same, cum_sum_forward)
CLASS(cum_prod, "CumProd", cum_sum, 2, rule_same, cum_sum_forward)
