/* backend/cuda/cuda_matmul.c - products of two computed matrices, as jobs (see
 * cuda_plan.h): a is in rows, b is turned so that its columns are. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_plan.h"
#include "backend/cuda/cuda_walk.h"
#include "ops/ops.h"
#include "ops/product/matmul.h"

enum { most_batches = 4096 }; /* launched one by one */

/* A matrix of float32 anywhere in memory. */
struct loose_matrix {
    cu_pointer data;
    int64_t rows, columns, row_step, column_step;
};

/* The same dense and in the stored type, where kernels may expect it: at the
 * beginning of a buffer, or where it is if it may stay there. */
struct dense_matrix {
    struct buffer *made; /* NULL: it stayed */
    cu_pointer data;
};

static enum dtype matmul_stored(const struct cuda *cuda)
{
    const struct layout *layout = cuda_own_layout(cuda, 2);

    return layout ? layout->stored : DTYPE_F32;
}

static struct loose_matrix matrix_turned(struct loose_matrix from)
{
    return (struct loose_matrix){from.data, from.columns, from.rows,
                                 from.column_step, from.row_step};
}

static enum assay_status matrix_settle(struct cuda_call *call,
                                       struct loose_matrix from,
                                       enum dtype stored, bool may_stay,
                                       struct dense_matrix *out)
{
    const int64_t dims[] = {from.rows, from.columns};
    struct cuda_view loose = {
        from.data, DTYPE_F32, {from.row_step, from.column_step}};
    struct cuda_view dense = {0, (int)stored, {from.columns, 1}};
    enum assay_status st;

    *out = (struct dense_matrix){.data = from.data};
    if (may_stay && stored == DTYPE_F32 && from.column_step == 1 &&
        from.row_step == from.columns)
        return ASSAY_OK;
    st = cuda_scratch(call,
                      (size_t)(from.rows * from.columns) * dtype_bytes(stored),
                      &out->made);
    if (st)
        return st;
    dense.data = out->data = (cu_pointer)(uintptr_t)buffer_data(out->made);
    return cuda_copy_view(call, 2, dims, loose, dense);
}

/* y = a b, y dense and in the stored type. */
static enum assay_status matrix_product(struct cuda_call *call,
                                        struct loose_matrix a,
                                        struct loose_matrix b, bool may_stay,
                                        cu_pointer y)
{
    enum dtype stored = matmul_stored(call->cuda);
    struct cuda_job job =
        cuda_product_job(call, stored, a.rows, a.columns, b.columns);
    struct dense_matrix x = {0}, w = {0};
    enum assay_status st = matrix_settle(call, a, stored, may_stay, &x);

    if (!st)
        st = matrix_settle(call, matrix_turned(b), stored, may_stay, &w);
    if (!st)
        st = cuda_job_do(
            call, &job,
            &(struct cuda_operands){.x = x.data, .w = w.data, .y = y});
    buffer_release(x.made);
    buffer_release(w.made);
    return st;
}

/* ---- MatMul -------------------------------------------------------------- */

/* Elements of what comes before the last two dimensions. */
static int64_t matmul_batches(const struct shape *shape)
{
    return cuda_span(shape, 0, shape->rank - 2);
}

bool cuda_can_matmul(const struct cuda *cuda, const struct node *node,
                     const struct tensor *const *inputs)
{
    const struct shape *a = &inputs[0]->shape, *b = &inputs[1]->shape;

    (void)cuda, (void)node;
    return inputs[0]->dtype == DTYPE_F32 && inputs[1]->dtype == DTYPE_F32 &&
           a->rank >= 2 && b->rank >= 2 && a->dims[a->rank - 1] > 0 &&
           (b->rank == 2 ||
            matmul_batches(a) * matmul_batches(b) <= most_batches);
}

/* Which matrix of an input is the i-th of the output, by the rules of
 * broadcasting. */
static int64_t matmul_matrix_at(const struct shape *shape,
                                const struct shape *y, int64_t i)
{
    int64_t at = 0, step = 1;

    for (int d = y->rank - 3; d >= 0; d--) {
        int own = d - (y->rank - shape->rank);
        int64_t place = i % y->dims[d];

        i /= y->dims[d];
        if (own < 0)
            continue;
        at += shape->dims[own] > 1 ? place * step : 0;
        step *= shape->dims[own];
    }
    return at;
}

/* One of a batch, by way of memory of its own: in the middle of a tensor it may
 * lie where the libraries' kernels cannot load it. */
static enum assay_status matmul_one(struct cuda_call *call,
                                    struct loose_matrix a,
                                    struct loose_matrix b, int64_t i)
{
    enum dtype stored = matmul_stored(call->cuda);
    size_t bytes = (size_t)(a.rows * b.columns) * dtype_bytes(stored);
    const int64_t n = a.rows * b.columns;
    struct cuda_view from = {0, (int)stored, {1}}, to = {0, (int)stored, {1}};
    struct buffer *made = NULL;
    enum assay_status st = cuda_scratch(call, bytes, &made);

    if (st)
        return st;
    from.data = (cu_pointer)(uintptr_t)buffer_data(made);
    to.data = cuda_at(&call->outputs[0]) + (cu_pointer)i * bytes;
    st = matrix_product(call, a, b, false, from.data);
    if (!st)
        st = cuda_copy_view(call, 1, &n, from, to);
    buffer_release(made);
    return st;
}

enum assay_status cuda_run_matmul(struct cuda_call *call)
{
    const struct shape *a = &call->inputs[0]->shape;
    const struct shape *b = &call->inputs[1]->shape;
    const struct shape *y = &call->outputs[0].shape;
    int64_t m = a->dims[a->rank - 2], k = a->dims[a->rank - 1];
    int64_t n = b->dims[b->rank - 1];
    struct loose_matrix left = {cuda_at(call->inputs[0]), m, k, k, 1};
    struct loose_matrix right = {cuda_at(call->inputs[1]), k, n, n, 1};
    enum assay_status st =
        cuda_output(call, 0, cuda_layout(CUDA_ROWS, matmul_stored(call->cuda)));

    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    if (b->rank == 2) {
        left.rows = m * matmul_batches(a);
        return matrix_product(call, left, right, true,
                              cuda_at(&call->outputs[0]));
    }
    for (int64_t i = 0; !st && i < matmul_batches(y); i++) {
        struct loose_matrix one = left, other = right;

        one.data += (cu_pointer)(matmul_matrix_at(a, y, i) * m * k) * 4;
        other.data += (cu_pointer)(matmul_matrix_at(b, y, i) * k * n) * 4;
        st = matmul_one(call, one, other, i);
    }
    return st;
}

/* ---- Gemm ---------------------------------------------------------------- */

bool cuda_can_gemm(const struct cuda *cuda, const struct node *node,
                   const struct tensor *const *inputs)
{
    (void)cuda;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->dtype != DTYPE_F32)
            return false;
    }
    return tensor_elements(inputs[0]) > 0;
}

static struct loose_matrix gemm_matrix(const struct tensor *x, bool is_turned)
{
    int64_t columns = x->shape.dims[1];
    struct loose_matrix matrix = {cuda_at(x), x->shape.dims[0], columns,
                                  columns, 1};

    return is_turned ? matrix_turned(matrix) : matrix;
}

/* y = alpha y + beta c */
static enum assay_status gemm_finish(struct cuda_call *call,
                                     const struct gemm_attrs *attrs,
                                     const struct tensor *c, enum dtype stored)
{
    const struct tensor *y = &call->outputs[0];
    int64_t columns = y->shape.dims[1], n = (int64_t)tensor_elements(y);
    struct cuda_view repeated = {0};
    cu_pointer at = cuda_at(y), added = cuda_at(c);
    float alpha = attrs->alpha, beta = attrs->beta;
    char name[CUDA_NAME];

    if (c)
        repeated = cuda_view_repeated(c, &y->shape);
    else if (alpha == 1)
        return ASSAY_OK;
    cuda_kernel_name(name, "gemm_finish", stored);
    return CUDA_LAUNCH(call, "product", name,
                       cuda_grid_for(call->cuda->device, (size_t)n, 2), at,
                       added, repeated.strides[0], repeated.strides[1], columns,
                       n, alpha, beta);
}

enum assay_status cuda_run_gemm(struct cuda_call *call)
{
    const struct gemm_attrs *attrs = call->node->attrs;
    enum dtype stored = matmul_stored(call->cuda);
    enum assay_status st = cuda_output(call, 0, cuda_layout(CUDA_ROWS, stored));

    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    st = matrix_product(call, gemm_matrix(call->inputs[0], attrs->transposes_a),
                        gemm_matrix(call->inputs[1], attrs->transposes_b), true,
                        cuda_at(&call->outputs[0]));
    return st ? st : gemm_finish(call, attrs, cuda_input(call, 2), stored);
}
