/* ops/product/matmul_backward.c - see matmul_backward_internal.h. For y = a b
 * they are dy b^T and a^T dy. */
#include "ops/product/matmul_backward_internal.h"

#include "ops/gradient_internal.h"
#include "ops/product/matmul.h"
#include "ops/product/matrix_internal.h"
#include "ops/strided_internal.h"

static struct matrix rows_of(const float *data, int64_t columns)
{
    return (struct matrix){data, columns, 1};
}

static struct matrix transposed(struct matrix matrix)
{
    return (struct matrix){matrix.data, matrix.column_step, matrix.row_step};
}

/* ---- MatMul ---------------------------------------------------------------
 */

/* sum += a b, by way of a scratch matrix. */
static void matmul_backward_add_product(const struct op_context *context,
                                        int64_t m, int64_t n, int64_t k,
                                        struct matrix a, struct matrix b,
                                        float *scratch, float *sum)
{
    matrix_multiply(context, DTYPE_F32, m, n, k, &a, &b, scratch);
    for (int64_t i = 0; i < m * n; i++)
        sum[i] += scratch[i];
}

/* The matrices of one place of the batch. */
static void pass_matrices(const struct op_context *context,
                          const struct matmul_plan *plan,
                          const struct op_backward *pass, int64_t a_at,
                          int64_t b_at, const float *dy, float *scratch)
{
    int64_t m = plan->m, n = plan->n, k = plan->k;
    struct matrix d = rows_of(dy, n);

    if (op_wants(pass, 0))
        matmul_backward_add_product(
            context, m, k, n, d,
            transposed(rows_of(tensor_f32(pass->inputs[1]) + b_at * k * n, n)),
            scratch, tensor_f32(&pass->dx[0]) + a_at * m * k);
    if (op_wants(pass, 1))
        matmul_backward_add_product(
            context, k, n, m,
            transposed(rows_of(tensor_f32(pass->inputs[0]) + a_at * m * k, k)),
            d, scratch, tensor_f32(&pass->dx[1]) + b_at * k * n);
}

enum assay_status matmul_backward(const struct op_context *context,
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
            pass_matrices(context, &plan, pass, walk.at[0] + i * walk.steps[0],
                          walk.at[1] + i * walk.steps[1], dy,
                          buffer_data(memory));
    }
    buffer_release(memory);
    return ASSAY_OK;
}

/* ---- Gemm -----------------------------------------------------------------
 */

/* dx = alpha a b; where x was transposed, so is what is made. */
static void pass_factor(const struct op_context *context,
                        const struct gemm_attrs *attrs, bool is_transposed,
                        struct matrix a, struct matrix b, int64_t depth,
                        const struct tensor *dx)
{
    struct matrix left = is_transposed ? transposed(b) : a;
    struct matrix right = is_transposed ? transposed(a) : b;

    matrix_multiply(context, DTYPE_F32, dx->shape.dims[0], dx->shape.dims[1],
                    depth, &left, &right, tensor_data(dx));
    gradient_scale(context, attrs->alpha, dx, dx);
}

/* A factor as it is multiplied, or nothing where it has no data. */
static struct matrix factor(const struct tensor *x, bool is_transposed)
{
    struct matrix matrix = {NULL, x->shape.dims[1], 1};

    if (x->buffer)
        matrix.data = tensor_f32(x);
    return is_transposed ? transposed(matrix) : matrix;
}

enum assay_status gemm_backward(const struct op_context *context,
                                const struct node *node,
                                const struct op_backward *pass,
                                struct error *err)
{
    const struct gemm_attrs *attrs = node->attrs;
    int64_t m = pass->dy[0]->shape.dims[0], n = pass->dy[0]->shape.dims[1];
    struct matrix dy = rows_of(tensor_f32(pass->dy[0]), n);
    struct matrix a = factor(pass->inputs[0], attrs->transposes_a);
    struct matrix b = factor(pass->inputs[1], attrs->transposes_b);

    (void)err;
    if (op_wants(pass, 0))
        pass_factor(context, attrs, attrs->transposes_a, dy, transposed(b), n,
                    &pass->dx[0]);
    if (op_wants(pass, 1))
        pass_factor(context, attrs, attrs->transposes_b, transposed(a), dy, m,
                    &pass->dx[1]);
    if (op_wants(pass, 2)) {
        gradient_sum_to(context, pass->dy[0], &pass->dx[2]);
        gradient_scale(context, attrs->beta, &pass->dx[2], &pass->dx[2]);
    }
    return ASSAY_OK;
}
