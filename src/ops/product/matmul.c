/* ops/product/matmul.c - see matmul.h. */
#include "ops/product/matmul.h"

#include "base/mem.h"
#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/gradient_internal.h"
#include "ops/int_list_internal.h"
#include "ops/onnx_sink.h"
#include "ops/ops.h"
#include "ops/product/matrix_internal.h"
#include "ops/shape_rules.h"
#include "ops/strided_internal.h"
#include "ops/widen_internal.h"

#include <math.h>
#include <string.h>

static struct matrix matrix_of_rows(const float *data, int64_t columns)
{
    return (struct matrix){data, columns, 1};
}

static struct matrix matrix_transposed(struct matrix matrix)
{
    return (struct matrix){matrix.data, matrix.column_step, matrix.row_step};
}

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

static enum assay_status matmul_kernel(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *const *inputs,
                                       struct tensor *outputs,
                                       struct error *err)
{
    struct matmul_plan plan;
    enum assay_status st =
        matmul_plan(&inputs[0]->shape, &inputs[1]->shape, &plan, err);

    if (!st && inputs[0]->dtype == DTYPE_BOOL)
        st = rule_undefined(node, DTYPE_BOOL, err);
    if (!st)
        matmul_run(context, &plan, inputs[0]->dtype, tensor_data(inputs[0]),
                   tensor_data(inputs[1]), tensor_data(&outputs[0]));
    return st;
}

WIDEN_FORWARD(matmul_forward, matmul_kernel)

/* sum += a b, through a scratch matrix. */
static void matmul_add_product(const struct op_context *context, int64_t m,
                               int64_t n, int64_t k, struct matrix a,
                               struct matrix b, float *scratch, float *sum)
{
    matrix_multiply(context, DTYPE_F32, m, n, k, &a, &b, scratch);
    for (int64_t i = 0; i < m * n; i++)
        sum[i] += scratch[i];
}

/* Gradients of one pair of matrices in the batch: dy b^T and a^T dy. */
static void matmul_pass_matrices(const struct op_context *context,
                                 const struct matmul_plan *plan,
                                 const struct op_backward *pass, int64_t a_at,
                                 int64_t b_at, const float *dy, float *scratch)
{
    int64_t m = plan->m, n = plan->n, k = plan->k;
    struct matrix d = matrix_of_rows(dy, n);

    if (op_wants(pass, 0))
        matmul_add_product(context, m, k, n, d,
                           matrix_transposed(matrix_of_rows(
                               tensor_f32(pass->inputs[1]) + b_at * k * n, n)),
                           scratch, tensor_f32(&pass->dx[0]) + a_at * m * k);
    if (op_wants(pass, 1))
        matmul_add_product(context, k, n, m,
                           matrix_transposed(matrix_of_rows(
                               tensor_f32(pass->inputs[0]) + a_at * m * k, k)),
                           d, scratch, tensor_f32(&pass->dx[1]) + b_at * k * n);
}

static enum assay_status matmul_backward(const struct op_context *context,
                                         const struct node *node,
                                         const struct op_backward *pass,
                                         struct error *err)
{
    const struct shape *a = &pass->inputs[0]->shape;
    const struct shape *b = &pass->inputs[1]->shape;
    const float *dy = tensor_f32(pass->dy[0]);
    struct buffer *memory = NULL;
    struct matmul_plan plan;
    struct walk walk;
    size_t largest;
    enum assay_status st = matmul_plan(a, b, &plan, err);

    (void)node;
    if (st)
        return st;
    largest = (size_t)(plan.k * (plan.m > plan.n ? plan.m : plan.n));
    st = pool_take_scratch(context->pool, largest * sizeof(float),
                           "the gradient of a product", &memory, err);
    if (st)
        return st;
    walk = walk_start(
        &plan.batch,
        (struct strides[]){strides_repeat(&plan.a_batch, &plan.batch),
                           strides_repeat(&plan.b_batch, &plan.batch)},
        2);
    for (int64_t row = 0; row < walk.n_rows; row++, walk_next(&walk)) {
        for (int64_t i = 0; i < walk.length; i++, dy += plan.m * plan.n)
            matmul_pass_matrices(
                context, &plan, pass, walk.at[0] + i * walk.steps[0],
                walk.at[1] + i * walk.steps[1], dy, buffer_data(memory));
    }
    buffer_release(memory);
    return ASSAY_OK;
}

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

static enum assay_status gemm_infer(const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct gemm_attrs *attrs = node->attrs;
    const struct tensor *c = op_input(node, inputs, GEMM_C);
    const struct shape *a = &inputs[GEMM_A]->shape;
    const struct shape *b = &inputs[GEMM_B]->shape;
    struct tensor y = {0};
    struct shape both;
    enum assay_status st = rule_ranks(inputs, 2, 2, err);

    for (size_t i = GEMM_B; !st && i <= (c ? GEMM_C : GEMM_B); i++)
        st = rule_dtype(inputs, i, inputs[GEMM_A]->dtype, err);
    if (st)
        return st;
    if (gemm_depth(node, a) != b->dims[attrs->transposes_b ? 1 : 0])
        return matmul_misfit(a, b, err);
    y.shape = shape_of(2, a->dims[attrs->transposes_a ? 1 : 0],
                       b->dims[attrs->transposes_b ? 0 : 1]);
    if (c) {
        st = strided_broadcast((const struct tensor *const[]){&y, c}, 2, &both,
                               err);
        if (!st && !shape_equal(&both, &y.shape))
            st = rule_misfit("c", &c->shape, "y", &y.shape, err);
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

static enum assay_status gemm_kernel(const struct op_context *context,
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
        add_c_f32(attrs, op_input(node, inputs, GEMM_C), y);
    else if (a->dtype == DTYPE_F64)
        add_c_f64(attrs, op_input(node, inputs, GEMM_C), y);
    else
        add_c_i64(attrs, op_input(node, inputs, GEMM_C), y);
    return ASSAY_OK;
}

WIDEN_FORWARD(gemm_forward, gemm_kernel)

/* dx = alpha a b, transposed if x was. */
static void gemm_pass_factor(const struct op_context *context,
                             const struct gemm_attrs *attrs, bool is_transposed,
                             struct matrix a, struct matrix b, int64_t depth,
                             const struct tensor *dx)
{
    struct matrix left = is_transposed ? matrix_transposed(b) : a;
    struct matrix right = is_transposed ? matrix_transposed(a) : b;

    matrix_multiply(context, DTYPE_F32, dx->shape.dims[0], dx->shape.dims[1],
                    depth, &left, &right, tensor_data(dx));
    gradient_scale(context, attrs->alpha, dx, dx);
}

/* A factor as it is multiplied; without data if x has none. */
static struct matrix gemm_factor(const struct tensor *x, bool is_transposed)
{
    struct matrix matrix = {NULL, x->shape.dims[1], 1};

    if (x->buffer)
        matrix.data = tensor_f32(x);
    return is_transposed ? matrix_transposed(matrix) : matrix;
}

static enum assay_status gemm_backward(const struct op_context *context,
                                       const struct node *node,
                                       const struct op_backward *pass,
                                       struct error *err)
{
    const struct gemm_attrs *attrs = node->attrs;
    int64_t m = pass->dy[0]->shape.dims[0], n = pass->dy[0]->shape.dims[1];
    struct matrix dy = matrix_of_rows(tensor_f32(pass->dy[0]), n);
    struct matrix a = gemm_factor(pass->inputs[0], attrs->transposes_a);
    struct matrix b = gemm_factor(pass->inputs[1], attrs->transposes_b);

    (void)err;
    if (op_wants(pass, 0))
        gemm_pass_factor(context, attrs, attrs->transposes_a, dy,
                         matrix_transposed(b), n, &pass->dx[0]);
    if (op_wants(pass, 1))
        gemm_pass_factor(context, attrs, attrs->transposes_b,
                         matrix_transposed(a), dy, m, &pass->dx[1]);
    if (op_wants(pass, 2)) {
        gradient_sum_to(context, pass->dy[0], &pass->dx[2]);
        gradient_scale(context, attrs->beta, &pass->dx[2], &pass->dx[2]);
    }
    return ASSAY_OK;
}

static void gemm_cost(const struct node *node,
                      const struct tensor *const *inputs,
                      const struct tensor *outputs, struct cost *cost)
{
    cost->macs += tensor_elements(&outputs[0]) *
                  (uint64_t)gemm_depth(node, &inputs[GEMM_A]->shape);
}

/* ---- Det -------------------------------------------------------------- */

static enum assay_status det_infer(const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct tensor *outputs, struct error *err)
{
    const struct shape *x = &inputs[0]->shape;
    struct shape y = *x;
    char text[64];

    (void)node;
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        return error_set(err, ASSAY_BAD_INPUT, "%s is not a square matrix",
                         shape_text(x, text, sizeof text));
    y.rank -= 2;
    rule_set(&outputs[0], inputs[0]->dtype, &y);
    return ASSAY_OK;
}

static void det_swap_rows(double *a, double *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double kept = a[i];

        a[i] = b[i];
        b[i] = kept;
    }
}

/* By elimination with the largest pivots. Overwrites x. */
static double det_eliminate(double *x, int64_t n)
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
            det_swap_rows(x + c * n, x + pivot * n, n);
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

static enum assay_status det_kernel(const struct op_context *context,
                                    const struct node *node,
                                    const struct tensor *const *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct tensor *x = inputs[0];
    int64_t n = x->shape.dims[x->shape.rank - 1];
    double *copy = mem_array((size_t)(n * n), sizeof *copy);

    (void)context, (void)node;
    if (!copy)
        return error_nomem(err, (size_t)(n * n) * sizeof *copy, "a matrix");
    for (size_t i = 0; i < tensor_elements(&outputs[0]); i++) {
        for (size_t k = 0; k < (size_t)(n * n); k++)
            copy[k] = number_at(x, i * (size_t)(n * n) + k);
        number_put(&outputs[0], i, det_eliminate(copy, n));
    }
    mem_free(copy);
    return ASSAY_OK;
}

WIDEN_FORWARD(det_forward, det_kernel)

/* Matches the last dimension of a value that is added to the rows of y. */
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
    OP_TAKES(2, 2),
    OP_MAKES(1, 1),
    .infer = matmul_infer,
    .forward = matmul_forward,
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
    OP_ATTRS(gemm),
    OP_TAKES(2, 3),
    OP_MAKES(1, 1),
    .infer = gemm_infer,
    .forward = gemm_forward,
    .cost = gemm_cost,
    .backward = gemm_backward,
    .backward_reads = gradient_reads_factors,
    .channels = gemm_channels,
    .to_onnx = gemm_to_onnx,
    .counted = COUNTED_PRODUCT,
    .describe = gemm_describe,
};

const struct op_class op_det = {
    .name = "Det",
    OP_TAKES(1, 1),
    OP_MAKES(1, 1),
    .infer = det_infer,
    .forward = det_forward,
};
