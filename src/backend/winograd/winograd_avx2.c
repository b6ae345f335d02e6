/* backend/winograd/winograd_avx2.c - with AVX2 and FMA: 16 registers hold the
 * sums of 6 tiles and two output blocks, the weights and one value. */
#include "backend/winograd/winograd_internal.h"

#include <immintrin.h>

typedef __m256 vec;

enum { lanes = 8, group = 6 };

static inline vec vec_load(const float *from)
{
    return _mm256_loadu_ps(from);
}

static inline void vec_store(float *to, vec value)
{
    _mm256_storeu_ps(to, value);
}

static inline vec vec_splat(float value)
{
    return _mm256_set1_ps(value);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm256_min_ps(a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

#include "backend/winograd/winograd_body_internal.h"

const struct winograd_kernels winograd_avx2 = {.name = "avx2",
                                               .lanes = lanes,
                                               .group = group,
                                               .read = body_read,
                                               .multiply = body_multiply,
                                               .write = body_write};
