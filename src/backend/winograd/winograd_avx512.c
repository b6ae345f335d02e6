/* backend/winograd/winograd_avx512.c - with AVX-512: 32 registers hold the
 * sums of 12 tiles and two output blocks, the weights and one value. */
#include "backend/winograd/winograd_internal.h"

#include <immintrin.h>

typedef __m512 vec;

enum { lanes = 16, group = 12 };

#define vec_load  _mm512_loadu_ps
#define vec_store _mm512_storeu_ps
#define vec_splat _mm512_set1_ps
#define vec_min   _mm512_min_ps
#define vec_max   _mm512_max_ps

#include "backend/winograd/winograd_body_internal.h"

const struct winograd_kernels winograd_avx512 = {.name = "avx512",
                                                 .lanes = lanes,
                                                 .group = group,
                                                 .read = body_read,
                                                 .multiply = body_multiply,
                                                 .write = body_write};
