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
/* The first n elements, fewer than a vector's, and zeros. */
#define vec_load_first(from, n)                                                \
    _mm512_maskz_loadu_ps((__mmask16)((1U << (n)) - 1), (from))
#define vec_splat _mm512_set1_ps
#define vec_min   _mm512_min_ps
#define vec_max   _mm512_max_ps
#define vec_fma   _mm512_fmadd_ps
#define vec_sqrt  _mm512_sqrt_ps
/* Elements of x by their numbers. */
typedef __m512i vec_numbers;
#define vec_pick(x, numbers)   _mm512_permutexvar_ps((numbers), (x))
#define vec_load_numbers(from) _mm512_loadu_si512((const void *)(from))
/* About 1 / x. */
#define vec_about_inverse _mm512_rcp14_ps
/* To the nearest whole number. */
#define vec_round(x)                                                           \
    _mm512_roundscale_ps((x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

/* x * 2^n for whole n. */
#define vec_scale _mm512_scalef_ps

/* Asks for a cache line that is read soon, for the second cache. */
#define vec_fetch(at) _mm_prefetch((const char *)(at), _MM_HINT_T1)

/* The sum of the halves, again and again down to four numbers. */
static inline __m128 vec_fold(vec x)
{
    __m256 half =
        _mm512_castps512_ps256(x) +
        _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1));

    return _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1);
}

/* Of all elements. */
#define vec_largest _mm512_reduce_max_ps
#define vec_total   _mm512_reduce_add_ps

/* The lower half, and a vector of a half and zeros. */
typedef __m256 half_vec;
#define vec_low      _mm512_castps512_ps256
#define vec_from_low _mm512_zextps256_ps512

/* Four numbers, and zeros behind them. */
#define vec_widen _mm512_zextps128_ps512

#endif
