/* ops/product/matrix_internal.h - products of matrices in plain code.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_MATRIX_INTERNAL_H
#define OPS_PRODUCT_MATRIX_INTERNAL_H

#include "ops/strided_internal.h"

/* A matrix in memory; steps are in elements. */
struct matrix {
    const void *data;
    int64_t row_step, column_step;
};

/* y = a b, where y is dense, m x n, and k is the length of the sums. The type
 * is float32, float64, int64 or uint64. */
void matrix_multiply(const struct op_context *context, enum dtype dtype,
                     int64_t m, int64_t n, int64_t k, const struct matrix *a,
                     const struct matrix *b, void *y);

/* Products of a batch: the first matrices, and the steps in elements from one
 * of a, b and y to the next along each dimension of the batch. */
struct matrix_batch {
    int64_t m, n, k;
    struct shape shape;
    struct matrix a, b;
    struct strides steps[3];
};

/* Types as above; each matrix of y is dense. */
void matrix_multiply_batch(const struct op_context *context, enum dtype dtype,
                           const struct matrix_batch *batch, void *y);

/* Two shapes as batches of m x k and k x n matrices, broadcast to each other.
 */
struct matmul_plan {
    struct shape y;     /* of the result */
    struct shape batch; /* of the matrices */
    struct shape a_batch, b_batch;
    int64_t m, n, k;
};

/* The error "%s and %s cannot be multiplied". */
enum assay_status matmul_misfit(const struct shape *a, const struct shape *b,
                                struct error *err);
enum assay_status matmul_plan(const struct shape *a, const struct shape *b,
                              struct matmul_plan *plan, struct error *err);
/* y = a b for the whole batch; types as above. */
void matmul_run(const struct op_context *context,
                const struct matmul_plan *plan, enum dtype dtype, const void *a,
                const void *b, void *y);

#endif
