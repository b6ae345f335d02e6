/* backend/direct/few_rows_internal.h - products of a few rows with a matrix, in
 * vectors of a width that the including file chooses, as those of
 * direct_body_internal.h, which comes before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DIRECT_FEW_ROWS_INTERNAL_H
#define BACKEND_DIRECT_FEW_ROWS_INTERNAL_H

#include "backend/direct/direct_internal.h"

PART float add_up(vec x)
{
    __m128 sums = vec_fold(x);

    sums = _mm_hadd_ps(sums, sums);
    return _mm_cvtss_f32(_mm_hadd_ps(sums, sums));
}

PART void place_product(const struct direct_product *product, int64_t row,
                        int64_t output, float sum)
{
    if (product->bias)
        sum += product->bias[output];
    /* Written so that a NaN stays one. */
    product->y[row * product->out + output] =
        product->has_relu && sum < 0 ? 0 : sum;
}

/* What is left behind the last whole vectors. */
static __attribute__((noinline)) float add_rest(const float *w, const float *x,
                                                int64_t n)
{
    float sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += w[i] * x[i];
    return sum;
}

/* `n` outputs of `n_rows` rows; both are constants, so that the sums stay in
 * registers. */
PART void multiply_rows(const struct direct_product *product, int64_t row,
                        int64_t output, int n_rows, int n)
{
    enum { at_once = 32 }; /* two lines of the caches */
    int64_t in = product->in, c = 0;
    const float *x = product->x + row * in;
    const float *w = product->weights + output * in;
    vec sums[DIRECT_STREAMS];

#pragma GCC unroll 8
    for (int i = 0; i < n_rows * n; i++)
        sums[i] = vec_splat(0);
    for (; c + at_once <= in; c += at_once) {
#pragma GCC unroll 8
        for (int i = 0; i < n; i++) {
#pragma GCC unroll 4
            for (int64_t k = c; k < c + at_once; k += lanes) {
                vec weight = vec_load(w + i * in + k);

#pragma GCC unroll 2
                for (int r = 0; r < n_rows; r++)
                    sums[i * n_rows + r] += weight * vec_load(x + r * in + k);
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < n_rows * n; i++) {
        int r = i % n_rows, o = i / n_rows;
        float sum = add_up(sums[i]);

        if (c < in)
            sum += add_rest(w + o * in + c, x + r * in + c, in - c);
        place_product(product, row + r, output + o, sum);
    }
}

/* The second pair of rows finds the weights in the caches. */
static void body_multiply(const struct direct_product *product, int64_t first)
{
    enum { half = DIRECT_STREAMS / 2 };
    int64_t end = first + DIRECT_STREAMS, row = 0;

    if (end > product->out) {
        for (; row < product->rows; row++) {
            for (int64_t o = first; o < product->out; o++)
                multiply_rows(product, row, o, 1, 1);
        }
        return;
    }
    for (; product->rows - row >= 2; row += 2) {
        multiply_rows(product, row, first, 2, half);
        multiply_rows(product, row, first + half, 2, half);
    }
    for (; row < product->rows; row++)
        multiply_rows(product, row, first, 1, DIRECT_STREAMS);
}

#endif
