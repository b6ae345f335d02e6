/* backend/host_math.c - see host_math.h.
 *
 * Each element is read and written once: the loops are as fast as memory. */
#include "backend/host_math.h"

#include "base/variants.h"
#include "ops/op_threads.h"
#include "tensor/convert.h"

#include <math.h>

/* One parameter as the loops have it. */
struct optimizer_arrays {
    float *parameter;
    const float *gradient;
    float *first, *second; /* what is remembered; NULL: nothing */
    size_t n;
};

static struct optimizer_arrays
arrays_of(const struct optimizer_tensors *tensors)
{
    const struct tensor *const *states = tensors->states;

    return (struct optimizer_arrays){
        .parameter = tensor_f32(tensors->parameter),
        .gradient = tensor_f32(tensors->gradient),
        .first = states[0] ? tensor_f32(states[0]) : NULL,
        .second = states[1] ? tensor_f32(states[1]) : NULL,
        .n = tensor_elements(tensors->parameter),
    };
}

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

/* ---- filling, converting, adding ----------------------------------------- */

static enum assay_status host_fill(struct backend *backend,
                                   const struct op_context *context,
                                   const struct tensor *tensor, float value,
                                   struct error *err)
{
    float *x = tensor_f32(tensor);
    size_t n = tensor_elements(tensor);

    (void)backend, (void)context, (void)err;
    for (size_t i = 0; i < n; i++)
        x[i] = value;
    return ASSAY_OK;
}

static enum assay_status host_convert(struct backend *backend,
                                      const struct op_context *context,
                                      const struct tensor *from,
                                      const struct tensor *to,
                                      struct error *err)
{
    (void)backend, (void)context, (void)err;
    convert_elements(from->dtype, tensor_data(from), to->dtype, tensor_data(to),
                     tensor_elements(from));
    return ASSAY_OK;
}

static enum assay_status host_add(struct backend *backend,
                                  const struct op_context *context,
                                  const struct tensor *sum,
                                  const struct tensor *term, struct error *err)
{
    const float *x = tensor_f32(term);
    float *y = tensor_f32(sum);
    size_t n = tensor_elements(sum);

    (void)backend, (void)context, (void)err;
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
    return ASSAY_OK;
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
    float unscale = factors->unscale;

    for (size_t i = from; i < to; i++)
        parameter[i] -= rate * (unscale * gradient[i] + decay * parameter[i]);
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
    float momentum = factors->momentum, unscale = factors->unscale;

    for (size_t i = from; i < to; i++) {
        float slope = unscale * gradient[i] + decay * parameter[i];

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
    float momentum = factors->momentum, unscale = factors->unscale;

    for (size_t i = from; i < to; i++) {
        float slope = unscale * gradient[i] + decay * parameter[i];

        velocity[i] = momentum * velocity[i] + slope;
        parameter[i] -= rate * (slope + momentum * velocity[i]);
    }
}

static enum assay_status host_sgd(struct backend *backend,
                                  const struct op_context *context,
                                  const struct sgd_factors *factors,
                                  const struct optimizer_tensors *tensors,
                                  struct error *err)
{
    const struct optimizer_arrays arrays = arrays_of(tensors);
    void (*kernel)(const struct sgd_factors *, const struct optimizer_arrays *,
                   size_t, size_t) = !arrays.first          ? sgd_plain
                                     : factors->is_nesterov ? sgd_nesterov
                                                            : sgd_momentum;
    long n = count_pieces(arrays.n);

    (void)backend, (void)context, (void)err;
#pragma omp parallel for num_threads(op_threads(context)) if (n > 1)
    for (long k = 0; k < n; k++)
        kernel(factors, &arrays, (size_t)k * piece,
               piece_end((size_t)k * piece, arrays.n));
    return ASSAY_OK;
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
        float slope = f.unscale * gradient[i];

        mean[i] = mean[i] * f.beta1 + f.rest1 * slope;
        square[i] = square[i] * f.beta2 + f.rest2 * slope * slope;
        parameter[i] = parameter[i] * f.keep -
                       f.step_size * mean[i] /
                           (sqrtf(square[i]) / f.root_correction2 + f.eps);
    }
}

static enum assay_status host_adamw(struct backend *backend,
                                    const struct op_context *context,
                                    const struct adamw_factors *factors,
                                    const struct optimizer_tensors *tensors,
                                    struct error *err)
{
    const struct optimizer_arrays arrays = arrays_of(tensors);
    long n = count_pieces(arrays.n);

    (void)backend, (void)context, (void)err;
#pragma omp parallel for num_threads(op_threads(context)) if (n > 1)
    for (long k = 0; k < n; k++)
        adamw(factors, &arrays, (size_t)k * piece,
              piece_end((size_t)k * piece, arrays.n));
    return ASSAY_OK;
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

static double square_sum_of(const struct tensor *tensor,
                            const struct op_context *context)
{
    const float *values = tensor_f32(tensor);
    size_t n = tensor_elements(tensor);
    long pieces = count_pieces(n);
    double sum = 0;

    (void)context;
#pragma omp parallel for num_threads(op_threads(context)) if (pieces > 1)      \
    reduction(+ : sum)
    for (long k = 0; k < pieces; k++) {
        size_t from = (size_t)k * piece;

        sum += square_sum(values + from, piece_end(from, n) - from);
    }
    return sum;
}

static enum assay_status host_square_sum(struct backend *backend,
                                         const struct op_context *context,
                                         const struct tensor *const *tensors,
                                         size_t n, double *sum,
                                         struct error *err)
{
    (void)backend, (void)err;
    *sum = 0;
    for (size_t i = 0; i < n; i++)
        *sum += square_sum_of(tensors[i], context);
    return ASSAY_OK;
}

static enum assay_status host_is_finite(struct backend *backend,
                                        const struct op_context *context,
                                        const struct tensor *tensor,
                                        bool *is_finite, struct error *err)
{
    const float *x = tensor_f32(tensor);
    size_t i = 0, n = tensor_elements(tensor);

    (void)backend, (void)context, (void)err;
    while (i < n && isfinite(x[i]))
        i++;
    *is_finite = i == n;
    return ASSAY_OK;
}

/* Divided, as torchvision does it: a product with 1/255 rounds differently. */
static enum assay_status host_spread(struct backend *backend,
                                     const struct op_context *context,
                                     const struct tensor *from,
                                     const struct tensor *to, struct error *err)
{
    const uint8_t *rgb = tensor_data(from);
    size_t n = tensor_elements(from) / 3;
    float *planes = tensor_f32(to);

    (void)backend, (void)context, (void)err;
    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i < n; i++)
            planes[c * n + i] = (float)rgb[3 * i + c] / 255;
    }
    return ASSAY_OK;
}

const struct backend_math host_math = {
    .fill = host_fill,
    .convert = host_convert,
    .spread = host_spread,
    .add = host_add,
    .sgd = host_sgd,
    .adamw = host_adamw,
    .square_sum = host_square_sum,
    .is_finite = host_is_finite,
};
