/* backend/winograd/winograd_avx512.c - with AVX-512: 32 registers hold the
 * sums of 12 tiles and two output blocks, the weights and one value. */
#include "backend/winograd/winograd_internal.h"

#include <immintrin.h>

typedef __m512 vec;

enum { lanes = 16, group = 12 };

static inline vec vec_load(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline void vec_store(float *to, vec value)
{
    _mm512_storeu_ps(to, value);
}

static inline vec vec_splat(float value)
{
    return _mm512_set1_ps(value);
}

static inline vec vec_min(vec a, vec b)
{
    return _mm512_min_ps(a, b);
}

static inline vec vec_max(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

#include "backend/winograd/winograd_body_internal.h"

const struct winograd_kernels winograd_avx512 = {.name = "avx512",
                                                 .lanes = lanes,
                                                 .group = group,
                                                 .read = body_read,
                                                 .multiply = body_multiply,
                                                 .write = body_write};
