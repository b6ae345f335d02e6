/* backend/vectors_avx2_internal.h - vectors of 8 floats, for code that is
 * compiled with AVX2 and FMA.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_VECTORS_AVX2_INTERNAL_H
#define BACKEND_VECTORS_AVX2_INTERNAL_H

#include <immintrin.h>
#include <stdint.h>

typedef __m256 vec;

enum { lanes = 8 };

#define vec_load  _mm256_loadu_ps
#define vec_store _mm256_storeu_ps
#define vec_splat _mm256_set1_ps
#define vec_min   _mm256_min_ps
#define vec_max   _mm256_max_ps
#define vec_fma   _mm256_fmadd_ps
#define vec_sqrt  _mm256_sqrt_ps
/* The first n elements, fewer than a vector's, and zeros. */
static inline vec vec_load_first(const float *from, int64_t n)
{
    __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

    return _mm256_maskload_ps(
        from, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), numbers));
}
/* Elements of x by their numbers. */
typedef __m256i vec_numbers;
#define vec_pick(x, numbers)   _mm256_permutevar8x32_ps((x), (numbers))
#define vec_load_numbers(from) _mm256_loadu_si256((const void *)(from))
/* About 1 / x. */
#define vec_about_inverse _mm256_rcp_ps
/* To the nearest whole number. */
#define vec_round(x)                                                           \
    _mm256_round_ps((x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)

/* x * 2^n for whole n from -126 to 127. */
static inline vec vec_scale(vec x, vec n)
{
    __m256i bits =
        _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));

    return x * _mm256_castsi256_ps(_mm256_slli_epi32(bits, 23));
}

/* Asks for a cache line that is read soon, for the second cache. */
#define vec_fetch(at) _mm_prefetch((const char *)(at), _MM_HINT_T1)

/* The sum of the halves, again and again down to four numbers. */
static inline __m128 vec_fold(vec x)
{
    return _mm256_castps256_ps128(x) + _mm256_extractf128_ps(x, 1);
}

/* Of all elements. */
static inline float vec_largest(vec x)
{
    __m128 four =
        _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));

    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline float vec_total(vec x)
{
    __m128 four = vec_fold(x), two = four + _mm_movehl_ps(four, four);

    return _mm_cvtss_f32(two + _mm_movehdup_ps(two));
}

/* The lower half, and a vector of a half and zeros. */
typedef __m128 half_vec;
#define vec_low      _mm256_castps256_ps128
#define vec_from_low _mm256_zextps128_ps256

/* Four numbers, and zeros behind them. */
#define vec_widen _mm256_zextps128_ps256

#endif
