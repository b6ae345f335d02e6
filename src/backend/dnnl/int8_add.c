/* backend/dnnl/int8_add.c - see int8_internal.h: QLinearAdd in one pass.
 *
 * y = a * (scale of a / scale of y) + b * (scale of b / scale of y) + what both
 * zeros leave, rounded: the same as by way of real numbers, but for sums that
 * are half a step, which may be rounded the other way. */
#include "backend/dnnl/int8_internal.h"

#include "base/processor.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

#define ADD_TARGET __attribute__((target("avx2,fma"), always_inline))

enum { add_bytes = 16 };

struct add_steps {
    bool a_signed, b_signed;
    float a, b, rest; /* in steps of y */
    int16_t zero;     /* 128 more if y is signed */
    uint8_t flip;     /* 0x80: y is signed */
};

/* 8 bytes as numbers. */
ADD_TARGET static inline __m256 add_load(const uint8_t *x, bool is_signed)
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)x);

    return _mm256_cvtepi32_ps(is_signed ? _mm256_cvtepi8_epi32(bytes)
                                        : _mm256_cvtepu8_epi32(bytes));
}

/* 8 sums in steps. */
ADD_TARGET static inline __m256i add_sum(const struct add_steps *steps,
                                         const uint8_t *a, const uint8_t *b,
                                         bool a_signed, bool b_signed)
{
    __m256 sum =
        _mm256_fmadd_ps(add_load(b, b_signed), _mm256_set1_ps(steps->b),
                        _mm256_set1_ps(steps->rest));

    return _mm256_cvtps_epi32(
        _mm256_fmadd_ps(add_load(a, a_signed), _mm256_set1_ps(steps->a), sum));
}

ADD_TARGET static inline void add_some(const struct add_steps *steps,
                                       const uint8_t *a, const uint8_t *b,
                                       uint8_t *y, bool a_signed, bool b_signed)
{
    __m256i words =
        _mm256_packs_epi32(add_sum(steps, a, b, a_signed, b_signed),
                           add_sum(steps, a + 8, b + 8, a_signed, b_signed));
    __m128i bytes;

    words = _mm256_adds_epi16(_mm256_permute4x64_epi64(words, 0xd8),
                              _mm256_set1_epi16(steps->zero));
    bytes = _mm_packus_epi16(_mm256_castsi256_si128(words),
                             _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)y,
                     _mm_xor_si128(bytes, _mm_set1_epi8((char)steps->flip)));
}

__attribute__((target("avx2,fma"))) static void
add_row(const struct add_steps *steps, const uint8_t *a, const uint8_t *b,
        uint8_t *y, size_t n)
{
    bool is_signed = steps->a_signed || steps->b_signed;
    uint8_t rest[3][add_bytes] = {{0}};
    size_t at = 0;

    for (; !is_signed && at + add_bytes <= n; at += add_bytes)
        add_some(steps, a + at, b + at, y + at, false, false);
    for (; at + add_bytes <= n; at += add_bytes)
        add_some(steps, a + at, b + at, y + at, steps->a_signed,
                 steps->b_signed);
    if (at < n) {
        memcpy(rest[0], a + at, n - at);
        memcpy(rest[1], b + at, n - at);
        add_some(steps, rest[0], rest[1], rest[2], steps->a_signed,
                 steps->b_signed);
        memcpy(y + at, rest[2], n - at);
    }
}

bool int8_add_row(const struct qlinear_row *row)
{
    static const double most = 1 << 20; /* times 255 is an integer still */
    double a = (double)row->a_scale / (double)row->y_scale;
    double b = (double)row->b_scale / (double)row->y_scale;
    struct add_steps steps = {.a_signed = row->a_dtype == DTYPE_I8,
                              .b_signed = row->b_dtype == DTYPE_I8,
                              .a = (float)a,
                              .b = (float)b,
                              .rest =
                                  (float)-(a * row->a_zero + b * row->b_zero),
                              .flip = row->y_dtype == DTYPE_I8 ? 0x80 : 0};

    if (row->is_product || !(a < most && b < most) ||
        processor_level() < PROCESSOR_AVX2 || !__builtin_cpu_supports("fma"))
        return false;
    steps.zero = (int16_t)(row->y_zero + steps.flip);
    add_row(&steps, row->a, row->b, row->y, row->n);
    return true;
}
#else
bool int8_add_row(const struct qlinear_row *row)
{
    (void)row;
    return false;
}
#endif
