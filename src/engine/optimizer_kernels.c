/* engine/optimizer_kernels.c - see optimizer_kernels.h.
 *
 * Each element is read and written once: the loops are as fast as memory. */
#include "engine/optimizer_kernels.h"

#include "base/variants.h"
#include "ops/op_threads.h"

#include <math.h>

/* A piece that one thread works on, elements: it starts at a cache line, and
 * smaller parameters are not worth waking another thread. */
enum { piece = 1 << 14 };

static size_t piece_end(size_t from, size_t n)
{
    return from + piece < n ? from + piece : n;
}

static long count_pieces(size_t n)
{
    return (long)((n + piece - 1) / piece);
}

/* ---- SGD ---------------------------------------------------------------- */

VARIANTS(void, sgd_plain,
         (const struct sgd_factors *factors,
          const struct optimizer_arrays *arrays, size_t from, size_t to),
         (factors, arrays, from, to))
{
    const float *restrict gradient = arrays->gradient;
    float *restrict parameter = arrays->parameter;
    float rate = factors->learning_rate, decay = factors->weight_decay;

    for (size_t i = from; i < to; i++)
        parameter[i] -= rate * (gradient[i] + decay * parameter[i]);
}

VARIANTS(void, sgd_momentum,
         (const struct sgd_factors *factors,
          const struct optimizer_arrays *arrays, size_t from, size_t to),
         (factors, arrays, from, to))
{
    const float *restrict gradient = arrays->gradient;
    float *restrict parameter = arrays->parameter;
    float *restrict velocity = arrays->first;
    float rate = factors->learning_rate, decay = factors->weight_decay;
    float momentum = factors->momentum;

    for (size_t i = from; i < to; i++) {
        float slope = gradient[i] + decay * parameter[i];

        velocity[i] = momentum * velocity[i] + slope;
        parameter[i] -= rate * velocity[i];
    }
}

VARIANTS(void, sgd_nesterov,
         (const struct sgd_factors *factors,
          const struct optimizer_arrays *arrays, size_t from, size_t to),
         (factors, arrays, from, to))
{
    const float *restrict gradient = arrays->gradient;
    float *restrict parameter = arrays->parameter;
    float *restrict velocity = arrays->first;
    float rate = factors->learning_rate, decay = factors->weight_decay;
    float momentum = factors->momentum;

    for (size_t i = from; i < to; i++) {
        float slope = gradient[i] + decay * parameter[i];

        velocity[i] = momentum * velocity[i] + slope;
        parameter[i] -= rate * (slope + momentum * velocity[i]);
    }
}

void optimizer_sgd(const struct sgd_factors *factors,
                   const struct optimizer_arrays *arrays,
                   const struct op_context *context)
{
    void (*kernel)(const struct sgd_factors *, const struct optimizer_arrays *,
                   size_t, size_t) = !arrays->first         ? sgd_plain
                                     : factors->is_nesterov ? sgd_nesterov
                                                            : sgd_momentum;
    long n = count_pieces(arrays->n);

    (void)context;
#pragma omp parallel for num_threads(op_threads(context)) if (n > 1)
    for (long k = 0; k < n; k++)
        kernel(factors, arrays, (size_t)k * piece,
               piece_end((size_t)k * piece, arrays->n));
}

/* ---- AdamW -------------------------------------------------------------- */

VARIANTS(void, adamw,
         (const struct adamw_factors *factors,
          const struct optimizer_arrays *arrays, size_t from, size_t to),
         (factors, arrays, from, to))
{
    const float *restrict gradient = arrays->gradient;
    float *restrict parameter = arrays->parameter;
    float *restrict mean = arrays->first, *restrict square = arrays->second;
    const struct adamw_factors f = *factors;

    for (size_t i = from; i < to; i++) {
        float slope = gradient[i];

        mean[i] = mean[i] * f.beta1 + f.rest1 * slope;
        square[i] = square[i] * f.beta2 + f.rest2 * slope * slope;
        parameter[i] = parameter[i] * f.keep -
                       f.step_size * mean[i] /
                           (sqrtf(square[i]) / f.root_correction2 + f.eps);
    }
}

void optimizer_adamw(const struct adamw_factors *factors,
                     const struct optimizer_arrays *arrays,
                     const struct op_context *context)
{
    long n = count_pieces(arrays->n);

    (void)context;
#pragma omp parallel for num_threads(op_threads(context)) if (n > 1)
    for (long k = 0; k < n; k++)
        adamw(factors, arrays, (size_t)k * piece,
              piece_end((size_t)k * piece, arrays->n));
}

/* ---- norm --------------------------------------------------------------- */

/* Several sums, so that none waits for the one before. */
VARIANTS(double, square_sum, (const float *restrict values, size_t n),
         (values, n))
{
    enum { lanes = 16 };
    double sums[lanes] = {0}, sum = 0;
    size_t i = 0;

    for (; i + lanes <= n; i += lanes) {
        for (size_t k = 0; k < lanes; k++)
            sums[k] += (double)values[i + k] * (double)values[i + k];
    }
    for (; i < n; i++)
        sum += (double)values[i] * (double)values[i];
    for (size_t k = 0; k < lanes; k++)
        sum += sums[k];
    return sum;
}

double optimizer_square_sum(const float *values, size_t n,
                            const struct op_context *context)
{
    long pieces = count_pieces(n);
    double sum = 0;

#pragma omp parallel for num_threads(op_threads(context)) if (pieces > 1)      \
    reduction(+ : sum)
    for (long k = 0; k < pieces; k++) {
        size_t from = (size_t)k * piece;

        sum += square_sum(values + from, piece_end(from, n) - from);
    }
    return sum;
}
