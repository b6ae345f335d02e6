/* ops/product/matrix.c - see matrix_internal.h. */
#include "ops/product/matrix_internal.h"

#include "base/variants.h"
#include "ops/int_list_internal.h"
#include "ops/op_threads.h"

#include <string.h>

enum {
    lanes = 16,
    parallel_products = 1 << 16 /* fewer are not worth a second thread */
};

/* One row of y: the sum of rows of b if these are dense, otherwise products of
 * a row and a column. */
#define ROW(name, type)                                                        \
    VARIANTS(void, name,                                                       \
             (int64_t n, int64_t k, const type *a, int64_t a_step,             \
              const type *b, int64_t b_row, int64_t b_column, type *y),        \
             (n, k, a, a_step, b, b_row, b_column, y))                         \
    {                                                                          \
        if (b_column == 1) {                                                   \
            memset(y, 0, (size_t)n * sizeof *y);                               \
            for (int64_t i = 0; i < k; i++) {                                  \
                type factor = a[i * a_step];                                   \
                const type *row = b + i * b_row;                               \
                                                                               \
                for (int64_t j = 0; j < n; j++)                                \
                    y[j] += factor * row[j];                                   \
            }                                                                  \
            return;                                                            \
        }                                                                      \
        for (int64_t j = 0; j < n; j++) {                                      \
            const type *column = b + j * b_column;                             \
            type sums[lanes] = {0}, sum = 0;                                   \
            int64_t i = 0;                                                     \
                                                                               \
            for (; a_step == 1 && b_row == 1 && i + lanes <= k; i += lanes) {  \
                for (int64_t l = 0; l < lanes; l++)                            \
                    sums[l] += a[i + l] * column[i + l];                       \
            }                                                                  \
            for (; i < k; i++)                                                 \
                sum += a[i * a_step] * column[i * b_row];                      \
            for (int64_t l = 0; l < lanes; l++)                                \
                sum += sums[l];                                                \
            y[j] = sum;                                                        \
        }                                                                      \
    }
ROW(row_f32, float)
ROW(row_f64, double)
ROW(row_u64, uint64_t) /* for signed integers too */

/* By a library, where that is worth the call. */
static bool matrix_hand_over(const struct op_context *context, int64_t m,
                             int64_t n, int64_t k, const struct matrix *a,
                             const struct matrix *b, void *y)
{
    enum { few_products = 1 << 12 };
    struct float_product product = {.m = m,
                                    .n = n,
                                    .k = k,
                                    .a = a->data,
                                    .b = b->data,
                                    .a_row = a->row_step,
                                    .a_column = a->column_step,
                                    .b_row = b->row_step,
                                    .b_column = b->column_step,
                                    .y = y};

    return context->multiply && !context->is_reference &&
           m * n * k > few_products && context->multiply(context, &product);
}

void matrix_multiply(const struct op_context *context, enum dtype dtype,
                     int64_t m, int64_t n, int64_t k, const struct matrix *a,
                     const struct matrix *b, void *y)
{
    if (dtype == DTYPE_F32 && matrix_hand_over(context, m, n, k, a, b, y))
        return;
#pragma omp parallel for num_threads(                                          \
    op_threads(context)) if (m * n * k > parallel_products && m > 1)
    for (int64_t i = 0; i < m; i++) {
        if (dtype == DTYPE_F32)
            row_f32(n, k, (const float *)a->data + i * a->row_step,
                    a->column_step, b->data, b->row_step, b->column_step,
                    (float *)y + i * n);
        else if (dtype == DTYPE_F64)
            row_f64(n, k, (const double *)a->data + i * a->row_step,
                    a->column_step, b->data, b->row_step, b->column_step,
                    (double *)y + i * n);
        else
            row_u64(n, k, (const uint64_t *)a->data + i * a->row_step,
                    a->column_step, b->data, b->row_step, b->column_step,
                    (uint64_t *)y + i * n);
    }
}

/* The dimensions before the last two. */
static struct shape batch_of(const struct shape *shape)
{
    struct shape batch = *shape;

    batch.rank = shape->rank > 2 ? shape->rank - 2 : 0;
    return batch;
}

enum assay_status matmul_misfit(const struct shape *a, const struct shape *b,
                                struct error *err)
{
    char a_text[64], b_text[64];

    return error_set(err, ASSAY_BAD_INPUT, "%s and %s cannot be multiplied",
                     shape_text(a, a_text, sizeof a_text),
                     shape_text(b, b_text, sizeof b_text));
}

enum assay_status matmul_plan(const struct shape *a, const struct shape *b,
                              struct matmul_plan *plan, struct error *err)
{
    struct tensor batches[2] = {{0}};
    int64_t depth;
    enum assay_status st;

    if (a->rank < 1 || b->rank < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "a scalar cannot be multiplied as a matrix");
    *plan = (struct matmul_plan){.a_batch = batch_of(a),
                                 .b_batch = batch_of(b),
                                 .m = a->rank > 1 ? a->dims[a->rank - 2] : 1,
                                 .n = b->rank > 1 ? b->dims[b->rank - 1] : 1,
                                 .k = a->dims[a->rank - 1]};
    depth = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    batches[0].shape = plan->a_batch;
    batches[1].shape = plan->b_batch;
    st = strided_broadcast(
        (const struct tensor *const[]){&batches[0], &batches[1]}, 2,
        &plan->batch, err);
    if (!st && depth != plan->k)
        st = matmul_misfit(a, b, err);
    plan->y = plan->batch;
    if (a->rank > 1)
        plan->y.dims[plan->y.rank++] = plan->m;
    if (b->rank > 1)
        plan->y.dims[plan->y.rank++] = plan->n;
    return st;
}

/* Matrices that are all multiplied by the same one are rows of a single one;
 * 0: they are not. */
static int64_t rows_of_batch(const struct matmul_plan *plan)
{
    int64_t rows = plan->m;

    for (int i = 0; i < plan->b_batch.rank; i++) {
        if (plan->b_batch.dims[i] != 1)
            return 0;
    }
    for (int i = 0; i < plan->batch.rank; i++)
        rows *= plan->batch.dims[i];
    return rows;
}

/* Some products of a batch, one after the other. */
static void multiply_some(const struct op_context *context, enum dtype dtype,
                          const struct matrix_batch *batch,
                          const struct walk *walk, int64_t first, int64_t n,
                          void *y)
{
    int64_t bytes = (int64_t)dtype_bytes(dtype);
    struct matrix a = batch->a, b = batch->b;
    struct walk now = *walk;

    walk_seek(&now, first / walk->length);
    for (int64_t i = first; i < first + n; i++) {
        int64_t at = i % walk->length;

        if (i > first && at == 0)
            walk_next(&now);
        a.data = (const char *)batch->a.data +
                 (now.at[0] + at * walk->steps[0]) * bytes;
        b.data = (const char *)batch->b.data +
                 (now.at[1] + at * walk->steps[1]) * bytes;
        matrix_multiply(context, dtype, batch->m, batch->n, batch->k, &a, &b,
                        (char *)y + (now.at[2] + at * walk->steps[2]) * bytes);
    }
}

/* Each thread gets whole products where they are small and many. */
void matrix_multiply_batch(const struct op_context *context, enum dtype dtype,
                           const struct matrix_batch *batch, void *y)
{
    enum { large_product = 1 << 21 };
    struct walk walk = walk_start(&batch->shape, batch->steps, 3);
    int64_t each = batch->m * batch->n * batch->k;
    int64_t n = walk.n_rows * walk.length, threads = op_threads(context);

    if (n == 0)
        return;
    if (n < threads || each > large_product || n * each < parallel_products)
        threads = 1;
#pragma omp parallel for num_threads((int)threads) if (threads > 1)
    for (int64_t part = 0; part < threads; part++) {
        int64_t first = n * part / threads;

        multiply_some(context, dtype, batch, &walk, first,
                      n * (part + 1) / threads - first, y);
    }
}

/* Strides between the matrices of a batch. */
static struct strides batch_strides(const struct shape *from,
                                    const struct shape *to, int64_t matrix)
{
    struct strides strides = strides_repeat(from, to);

    for (int i = 0; i < to->rank; i++)
        strides.of[i] *= matrix;
    return strides;
}

void matmul_run(const struct op_context *context,
                const struct matmul_plan *plan, enum dtype dtype, const void *a,
                const void *b, void *y)
{
    int64_t m = plan->m, n = plan->n, k = plan->k;
    struct matrix_batch batch = {
        .m = m,
        .n = n,
        .k = k,
        .shape = plan->batch,
        .a = {a, k, 1},
        .b = {b, n, 1},
        .steps = {batch_strides(&plan->a_batch, &plan->batch, m * k),
                  batch_strides(&plan->b_batch, &plan->batch, k * n),
                  batch_strides(&plan->batch, &plan->batch, m * n)}};

    if (rows_of_batch(plan))
        matrix_multiply(context, dtype, rows_of_batch(plan), n, k, &batch.a,
                        &batch.b, y);
    else
        matrix_multiply_batch(context, dtype, &batch, y);
}
