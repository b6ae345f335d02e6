/* ops/product/matmul.c - see matmul.h. */
#include "ops/product/matmul.h"

#include "base/mem.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/product/matmul_backward_internal.h"
#include "ops/product/matrix_internal.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"

#include <math.h>
#include <string.h>

/* ---- MatMul ----------------------------------------------------------- */

static enum assay_status matmul_infer(const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    struct matmul_plan plan;
    enum assay_status st = rule_dtype(inputs, 1, inputs[0]->dtype, err);

    (void)node;
    if (!st)
        st = matmul_plan(&inputs[0]->shape, &inputs[1]->shape, &plan, err);
    if (!st)
        rule_set(&outputs[0], inputs[0]->dtype, &plan.y);
    return st;
}

static enum assay_status run_matmul(const struct op_context *context,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    struct matmul_plan plan;
    enum assay_status st =
        matmul_plan(&inputs[0]->shape, &inputs[1]->shape, &plan, err);

    (void)node;
    if (!st && inputs[0]->dtype == DTYPE_BOOL)
        st = error_set(err, ASSAY_UNSUPPORTED, "truth values are no factors");
    if (!st)
        matmul_run(context, &plan, inputs[0]->dtype, tensor_data(inputs[0]),
                   tensor_data(inputs[1]), tensor_data(&outputs[0]));
    return st;
}

WIDEN_FORWARD(forward_matmul, run_matmul)

static void matmul_cost(const struct node *node,
                        const struct tensor *const *inputs,
                        const struct tensor *outputs, struct cost *cost)
{
    const struct shape *a = &inputs[0]->shape;

    (void)node;
    cost->macs += tensor_elements(&outputs[0]) * (uint64_t)a->dims[a->rank - 1];
}

/* ---- Gemm ------------------------------------------------------------- */

enum gemm_input { GEMM_A, GEMM_B, GEMM_C };

static int64_t gemm_depth(const struct node *node, const struct shape *a)
{
    const struct gemm_attrs *attrs = node->attrs;

    return a->dims[attrs->transposes_a ? 0 : 1];
}

static const struct tensor *gemm_c(const struct node *node,
                                   const struct tensor *const *inputs)
{
    return node->n_inputs > GEMM_C ? inputs[GEMM_C] : NULL;
}

static enum assay_status infer_gemm(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct gemm_attrs *attrs = node->attrs;
    const struct tensor *c = gemm_c(node, inputs);
    const struct shape *a = &inputs[GEMM_A]->shape;
    const struct shape *b = &inputs[GEMM_B]->shape;
    struct tensor y = {0};
    struct shape both;
    char a_text[64], b_text[64];
    enum assay_status st = rule_rank(inputs, GEMM_A, 2, err);

    if (!st)
        st = rule_rank(inputs, GEMM_B, 2, err);
    for (size_t i = GEMM_B; !st && i <= (c ? GEMM_C : GEMM_B); i++)
        st = rule_dtype(inputs, i, inputs[GEMM_A]->dtype, err);
    if (st)
        return st;
    if (gemm_depth(node, a) != b->dims[attrs->transposes_b ? 1 : 0])
        return error_set(err, ASSAY_BAD_INPUT, "%s and %s cannot be multiplied",
                         shape_text(a, a_text, sizeof a_text),
                         shape_text(b, b_text, sizeof b_text));
    y.shape = shape_of(2, a->dims[attrs->transposes_a ? 1 : 0],
                       b->dims[attrs->transposes_b ? 0 : 1]);
    if (c) {
        st = strided_broadcast((const struct tensor *const[]){&y, c}, 2, &both,
                               err);
        if (!st && !shape_equal(&both, &y.shape))
            st = error_set(err, ASSAY_BAD_INPUT, "c %s does not fit y %s",
                           shape_text(&c->shape, a_text, sizeof a_text),
                           shape_text(&y.shape, b_text, sizeof b_text));
    }
    rule_set(&outputs[0], inputs[GEMM_A]->dtype, &y.shape);
    return st;
}

/* y = alpha y + beta c */
#define ADD_C(name, type)                                                      \
    static void name(const struct gemm_attrs *attrs, const struct tensor *c,   \
                     const struct tensor *y)                                   \
    {                                                                          \
        struct strides steps = {{0}};                                          \
        int64_t columns = y->shape.dims[1], n = y->shape.dims[0] * columns;    \
        type *values = tensor_data(y);                                         \
                                                                               \
        if (c)                                                                 \
            steps = strides_repeat(&c->shape, &y->shape);                      \
        for (int64_t i = 0; i < n; i++) {                                      \
            values[i] = (type)((type)attrs->alpha * values[i]);                \
            if (c)                                                             \
                values[i] +=                                                   \
                    (type)attrs->beta *                                        \
                    ((type *)tensor_data(c))[i / columns * steps.of[0] +       \
                                             i % columns * steps.of[1]];       \
        }                                                                      \
    }
ADD_C(add_c_f32, float)
ADD_C(add_c_f64, double)
ADD_C(add_c_i64, int64_t)

static enum assay_status run_gemm(const struct op_context *context,
                                  const struct node *node,
                                  const struct tensor *const *inputs,
                                  struct tensor *outputs, struct error *err)
{
    const struct gemm_attrs *attrs = node->attrs;
    const struct tensor *a = inputs[GEMM_A], *b = inputs[GEMM_B];
    const struct tensor *y = &outputs[0];
    int64_t a_columns = a->shape.dims[1], b_columns = b->shape.dims[1];
    struct matrix left = {tensor_data(a), a_columns, 1};
    struct matrix right = {tensor_data(b), b_columns, 1};

    (void)err;
    if (attrs->transposes_a)
        left = (struct matrix){tensor_data(a), 1, a_columns};
    if (attrs->transposes_b)
        right = (struct matrix){tensor_data(b), 1, b_columns};
    matrix_multiply(context, a->dtype, y->shape.dims[0], y->shape.dims[1],
                    gemm_depth(node, &a->shape), &left, &right, tensor_data(y));
    if (a->dtype == DTYPE_F32)
        add_c_f32(attrs, gemm_c(node, inputs), y);
    else if (a->dtype == DTYPE_F64)
        add_c_f64(attrs, gemm_c(node, inputs), y);
    else
        add_c_i64(attrs, gemm_c(node, inputs), y);
    return ASSAY_OK;
}

WIDEN_FORWARD(forward_gemm, run_gemm)

static void cost_gemm(const struct node *node,
                      const struct tensor *const *inputs,
                      const struct tensor *outputs, struct cost *cost)
{
    cost->macs += tensor_elements(&outputs[0]) *
                  (uint64_t)gemm_depth(node, &inputs[GEMM_A]->shape);
}

/* ---- Det -------------------------------------------------------------- */

static enum assay_status infer_det(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    struct shape y = *x;
    char text[64];

    (void)node;
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return error_set(err, ASSAY_BAD_INPUT, "%s is no square matrix",
                         shape_text(x, text, sizeof text));
    y.rank -= 2;
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

static void swap_rows(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double kept = a[i];

        a[i] = b[i];
        b[i] = kept;
    }
}

/* By elimination with the largest pivots; destroys x. */
static double determinant(double *x, int64_t n)
{
    double product = 1;

    for (int64_t c = 0; c < n; c++) {
        int64_t pivot = c;

        for (int64_t r = c + 1; r < n; r++) {
            if (fabs(x[r * n + c]) > fabs(x[pivot * n + c]))
                pivot = r;
        }
        if (x[pivot * n + c] == 0)
            return 0;
        if (pivot != c) {
            swap_rows(x + c * n, x + pivot * n, n);
            product = -product;
        }
        product *= x[c * n + c];
        for (int64_t r = c + 1; r < n; r++) {
            double factor = x[r * n + c] / x[c * n + c];

            for (int64_t i = c; i < n; i++)
                x[r * n + i] -= factor * x[c * n + i];
        }
    }
    return product;
}

static enum assay_status run_det(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0];
    int64_t n = x->shape.dims[x->shape.rank - 1];
    bool is_f32 = x->dtype == DTYPE_F32;
    double *copy = mem_array((size_t)(n * n), sizeof *copy);

    (void)context, (void)node;
    if (!copy)
        return error_nomem(err, (size_t)(n * n) * sizeof *copy, "a matrix");
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++) {
        size_t first = i * (size_t)(n * n);
        double found;

        for (size_t k = 0; k < (size_t)(n * n); k++)
            copy[k] = is_f32 ? (double)tensor_f32(x)[first + k]
                             : ((double *)tensor_data(x))[first + k];
        found = determinant(copy, n);
        if (is_f32)
            tensor_f32(&outputs[0])[i] = (float)found;
        else
            ((double *)tensor_data(&outputs[0]))[i] = found;
    }
    mem_free(copy);
    return ASSAY_OK;
}

WIDEN_FORWARD(forward_det, run_det)

/* What is added to rows of y, along its last dimension. */
static void gemm_match_rows(struct channels *channels, uint32_t value,
                            struct labels y)
{
    const struct shape *shape = channels_shape(channels, value);

    if (!shape || !shape->rank) {
        channels_fix(channels, shape ? (struct labels){0} : y);
        return;
    }
    if (shape->dims[shape->rank - 1] != 1)
        channels_match(channels, value, shape->rank - 1, y);
}

static void gemm_channels(struct channels *channels, const struct node *node)
{
    const struct gemm_attrs *attrs = node->attrs;

    if (!channels_is_weight(channels, node->inputs[1]) || attrs->transposes_a) {
        channels_fix_inputs(channels, node);
        return;
    }
    channel_product(channels, node, attrs->transposes_b ? 1 : 0, 1);
    if (node->n_inputs > 2 && node->inputs[2] != GRAPH_NONE)
        gemm_match_rows(channels, node->inputs[2],
                        channels_of(channels, node->outputs[0], 1));
}

static void matmul_channels(struct channels *channels, const struct node *node)
{
    const struct shape *x = channels_shape(channels, node->inputs[0]);
    const struct shape *w = channels_shape(channels, node->inputs[1]);

    if (!channels_is_weight(channels, node->inputs[1]) || w->rank != 2 || !x ||
        x->rank < 2)
        channels_fix_inputs(channels, node);
    else
        channel_product(channels, node, 0, x->rank - 1);
}

static void gemm_to_onnx(struct onnx_sink *to)
{
    const struct gemm_attrs *attrs = to->node->attrs;

    onnx_attr_float(to, "alpha", (double)attrs->alpha);
    onnx_attr_float(to, "beta", (double)attrs->beta);
    onnx_attr_int(to, "transA", attrs->transposes_a);
    onnx_attr_int(to, "transB", attrs->transposes_b);
    onnx_put_node(to, "Gemm", ONNX_ALL_INPUTS);
}

static void matmul_describe(const struct node *node,
                            const struct tensor *const *inputs,
                            const struct tensor *outputs,
                            struct layer_numbers *numbers)
{
    const struct shape *x = &inputs[0]->shape;

    (void)node, (void)outputs;
    numbers->summed = x->rank ? x->dims[x->rank - 1] : 0;
}

static void gemm_describe(const struct node *node,
                          const struct tensor *const *inputs,
                          const struct tensor *outputs,
                          struct layer_numbers *numbers)
{
    const struct gemm_attrs *attrs = node->attrs;

    matmul_describe(node, inputs, outputs, numbers);
    if (attrs->transposes_a)
        numbers->summed = inputs[0]->shape.dims[0];
}

ATTR_FIELDS(gemm, FIELD_FLOAT(gemm_attrs, alpha), FIELD_FLOAT(gemm_attrs, beta),
            FIELD_FLAG(gemm_attrs, transposes_a),
            FIELD_FLAG(gemm_attrs, transposes_b));

const struct op_class op_matmul = {
    .name = "MatMul",
    .min_inputs = 2,
    .max_inputs = 2,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = matmul_infer,
    .forward = forward_matmul,
    .cost = matmul_cost,
    .backward = matmul_backward,
    .backward_reads = gradient_reads_factors,
    .channels = matmul_channels,
    .to_onnx = onnx_put_named,
    .counted = COUNTED_PRODUCT,
    .describe = matmul_describe,
};

const struct op_class op_gemm = {
    .name = "Gemm",
    .attrs_bytes = sizeof(struct gemm_attrs),
    .fields = gemm_fields,
    .min_inputs = 2,
    .max_inputs = 3,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer_gemm,
    .forward = forward_gemm,
    .cost = cost_gemm,
    .backward = gemm_backward,
    .backward_reads = gradient_reads_factors,
    .channels = gemm_channels,
    .to_onnx = gemm_to_onnx,
    .counted = COUNTED_PRODUCT,
    .describe = gemm_describe,
};

const struct op_class op_det = {
    .name = "Det",
    .min_inputs = 1,
    .max_inputs = 1,
    .min_outputs = 1,
    .max_outputs = 1,
    .infer = infer_det,
    .forward = forward_det,
};
