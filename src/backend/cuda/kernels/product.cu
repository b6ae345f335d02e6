/* backend/cuda/kernels/product.cu - what follows a product of matrices.
 *
 * SPDX-License-Identifier: MIT */

/* y = alpha y + beta c, where c is repeated by its steps; c 0: none. */
template <typename T>
__device__ void gemm_finish_kernel(T *y, const float *c, int64_t row_step,
                                   int64_t column_step, int64_t columns,
                                   int64_t n, float alpha, float beta)
{
    for (int64_t i = FIRST; i < n; i += STEP) {
        float value = alpha * load(y[i]);

        if (c)
            value += beta * c[i / columns * row_step +
                              i % columns * column_step];
        y[i] = store<T>(value);
    }
}

FOR_STORED(gemm_finish,
           (T *y, const float *c, int64_t row_step, int64_t column_step,
            int64_t columns, int64_t n, float alpha, float beta),
           (y, c, row_step, column_step, columns, n, alpha, beta))
