/* backend/winograd/winograd_avx2.c - with AVX2 and FMA: 16 registers hold the
 * sums of 6 tiles and two output blocks, the weights and one value. */
#include "backend/winograd/winograd_internal.h"

#include <immintrin.h>

typedef __m256 vec;

enum { lanes = 8, group = 6 };

#define vec_load  _mm256_loadu_ps
#define vec_store _mm256_storeu_ps
#define vec_splat _mm256_set1_ps
#define vec_min   _mm256_min_ps
#define vec_max   _mm256_max_ps

#include "backend/winograd/winograd_body_internal.h"

const struct winograd_kernels winograd_avx2 = {.name = "avx2",
                                               .lanes = lanes,
                                               .group = group,
                                               .read = body_read,
                                               .multiply = body_multiply,
                                               .write = body_write};
