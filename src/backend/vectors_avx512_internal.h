/* backend/vectors_avx512_internal.h - vectors of 16 floats, for code that is
 * compiled with AVX-512.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_VECTORS_AVX512_INTERNAL_H
#define BACKEND_VECTORS_AVX512_INTERNAL_H

#include <immintrin.h>

typedef __m512 vec;

enum { lanes = 16 };

#define vec_load  _mm512_loadu_ps
#define vec_store _mm512_storeu_ps
#define vec_splat _mm512_set1_ps
#define vec_min   _mm512_min_ps
#define vec_max   _mm512_max_ps
#define vec_fma   _mm512_fmadd_ps
/* To the nearest whole number. */
#define vec_round(x)                                                           \
    _mm512_roundscale_ps((x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

/* x * 2^n for whole n. */
#define vec_scale _mm512_scalef_ps

#endif
