/* backend/dnnl/int8_depthwise_kernels.c - see int8_depthwise.h. */
#include "backend/dnnl/int8_depthwise.h"

#include "base/processor.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

/* ---- VNNI ---------------------------------------------------------------- */

#define VNNI_SETS   "avx512f,avx512bw,avx512vl,avx512vnni,fma"
#define VNNI_TARGET __attribute__((target(VNNI_SETS), always_inline))

enum { vnni_block = 32, vnni_part = 8 };

/* Four vectors: the sums of a block, or four taps of it. Each has a name:
 * arrays would stay in memory. */
struct vnni_four {
    __m256i a, b, c, d;
};

VNNI_TARGET static inline __m256i vnni_load(const uint8_t *x, __mmask32 mask,
                                            __m256i flip)
{
    return _mm256_xor_si256(_mm256_maskz_loadu_epi8(mask, x), flip);
}

/* Taps of the same channels side by side. */
VNNI_TARGET static inline struct vnni_four vnni_taps(__m256i x0, __m256i x1,
                                                     __m256i x2, __m256i x3)
{
    __m256i low01 = _mm256_unpacklo_epi8(x0, x1);
    __m256i low23 = _mm256_unpacklo_epi8(x2, x3);
    __m256i high01 = _mm256_unpackhi_epi8(x0, x1);
    __m256i high23 = _mm256_unpackhi_epi8(x2, x3);

    return (struct vnni_four){_mm256_unpacklo_epi16(low01, low23),
                              _mm256_unpackhi_epi16(low01, low23),
                              _mm256_unpacklo_epi16(high01, high23),
                              _mm256_unpackhi_epi16(high01, high23)};
}

VNNI_TARGET static inline struct vnni_four vnni_four(const void *from)
{
    const __m256i *at = from;

    return (struct vnni_four){
        _mm256_loadu_si256(at), _mm256_loadu_si256(at + 1),
        _mm256_loadu_si256(at + 2), _mm256_loadu_si256(at + 3)};
}

VNNI_TARGET static inline struct vnni_four
vnni_add(struct vnni_four sums, struct vnni_four x, struct vnni_four weights)
{
    sums.a = _mm256_dpbusd_epi32(sums.a, x.a, weights.a);
    sums.b = _mm256_dpbusd_epi32(sums.b, x.b, weights.b);
    sums.c = _mm256_dpbusd_epi32(sums.c, x.c, weights.c);
    sums.d = _mm256_dpbusd_epi32(sums.d, x.d, weights.d);
    return sums;
}

/* 8 sums as steps of the result. */
VNNI_TARGET static inline __m256i vnni_steps(const struct depthwise *dw,
                                             __m256i sums, int64_t at)
{
    return _mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_cvtepi32_ps(sums),
                                              _mm256_loadu_ps(dw->scale + at),
                                              _mm256_loadu_ps(dw->bias + at)));
}

/* The sums of a block as bytes. */
VNNI_TARGET static inline __m256i vnni_bytes(const struct depthwise *dw,
                                             struct vnni_four sums, int64_t c)
{
    __m256i zero = _mm256_set1_epi16(dw->zero);
    __m256i low = _mm256_packs_epi32(vnni_steps(dw, sums.a, c),
                                     vnni_steps(dw, sums.b, c + vnni_part));
    __m256i high =
        _mm256_packs_epi32(vnni_steps(dw, sums.c, c + 2 * vnni_part),
                           vnni_steps(dw, sums.d, c + 3 * vnni_part));
    __m256i bytes = _mm256_packus_epi16(_mm256_adds_epi16(low, zero),
                                        _mm256_adds_epi16(high, zero));

    bytes = _mm256_max_epu8(bytes, _mm256_set1_epi8((char)dw->low));
    bytes = _mm256_min_epu8(bytes, _mm256_set1_epi8((char)dw->high));
    return _mm256_xor_si256(bytes, _mm256_set1_epi8((char)dw->y_flip));
}

VNNI_TARGET static inline __mmask32 vnni_mask(int64_t left)
{
    return left < vnni_block ? (1U << left) - 1 : ~0U;
}

__attribute__((target(VNNI_SETS))) static void
vnni_place(const struct depthwise *dw, const uint8_t *const *taps, uint8_t *y,
           int64_t room)
{
    __m256i flip = _mm256_set1_epi8((char)dw->x_flip);
    const int8_t *weights = dw->weights;

    for (int64_t c = 0; c < dw->channels; c += vnni_block) {
        __mmask32 mask = vnni_mask(dw->channels - c);
        struct vnni_four sums = vnni_four(dw->first + c);
        __m256i bytes;

        for (int64_t g = 0; g < dw->n_groups; g++, weights += 4 * vnni_block) {
            const uint8_t *const *x = taps + 4 * g;

            sums = vnni_add(sums,
                            vnni_taps(vnni_load(x[0] + c, mask, flip),
                                      vnni_load(x[1] + c, mask, flip),
                                      vnni_load(x[2] + c, mask, flip),
                                      vnni_load(x[3] + c, mask, flip)),
                            vnni_four(weights));
        }
        bytes = vnni_bytes(dw, sums, c);
        /* Some processors take long for stores with a mask. */
        if (room - c >= vnni_block)
            _mm256_storeu_si256((__m256i *)(y + c), bytes);
        else
            _mm256_mask_storeu_epi8(y + c, mask, bytes);
    }
}

/* The taps of column `at`; the fourth has no weight. */
VNNI_TARGET static inline struct vnni_four
vnni_column(const struct depthwise_places *places, int64_t at, int64_t c,
            __mmask32 mask, __m256i flip)
{
    __m256i x2 =
        vnni_load(places->rows[2] + at * places->steps[2] + c, mask, flip);

    return vnni_taps(
        vnni_load(places->rows[0] + at * places->steps[0] + c, mask, flip),
        vnni_load(places->rows[1] + at * places->steps[1] + c, mask, flip), x2,
        x2);
}

VNNI_TARGET static inline void vnni_store_part(uint8_t *y, __m256i bytes,
                                               int64_t n)
{
    uint8_t all[vnni_block];

    _mm256_storeu_si256((__m256i *)all, bytes);
    if (n == 16)
        memcpy(y, all, 16);
    else
        memcpy(y, all, (size_t)n);
}

VNNI_TARGET static inline void
vnni_places_of(const struct depthwise *dw,
               const struct depthwise_places *places, int64_t c, bool is_whole,
               bool is_dense)
{
    const int8_t *weights = (const int8_t *)dw->columns + 12 * c;
    struct vnni_four w0 = vnni_four(weights);
    struct vnni_four w1 = vnni_four(weights + 4 * vnni_block);
    struct vnni_four w2 = vnni_four(weights + 8 * vnni_block);
    int64_t left = dw->channels - c;
    __mmask32 mask = is_whole ? ~0U : vnni_mask(left);
    __m256i flip = _mm256_set1_epi8((char)dw->x_flip);
    struct vnni_four x0 = vnni_column(places, 0, c, mask, flip);
    struct vnni_four x1 = vnni_column(places, 1, c, mask, flip);

    for (int64_t i = 0; i < places->n; i++) {
        int64_t at = i * places->stride;
        uint8_t *y = places->y + i * dw->channels + c;
        struct vnni_four x2 = vnni_column(places, at + 2, c, mask, flip);
        struct vnni_four sums = vnni_four(dw->first + c);
        __m256i bytes;

        sums = vnni_add(sums, x0, w0);
        sums = vnni_add(sums, x1, w1);
        sums = vnni_add(sums, x2, w2);
        bytes = vnni_bytes(dw, sums, c);
        if (is_whole)
            _mm256_storeu_si256((__m256i *)y, bytes);
        else
            vnni_store_part(y, bytes, left);
        x0 = is_dense ? x1 : x2;
        if (is_dense)
            x1 = x2;
        else if (i + 1 < places->n)
            x1 = vnni_column(places, at + 3, c, mask, flip);
    }
}

__attribute__((target(VNNI_SETS))) static void
vnni_places(const struct depthwise *dw, const struct depthwise_places *places)
{
    bool is_dense = places->stride == 1;

    for (int64_t c = 0; c < dw->channels; c += vnni_block) {
        bool is_whole = dw->channels - c >= vnni_block;

        if (is_whole && is_dense)
            vnni_places_of(dw, places, c, true, true);
        else if (is_whole)
            vnni_places_of(dw, places, c, true, false);
        else
            vnni_places_of(dw, places, c, false, is_dense);
    }
}

/* ---- AVX2 ---------------------------------------------------------------- */

#define AVX2_TARGET __attribute__((target("avx2,fma"), always_inline))

enum { avx2_block = 16, avx2_part = 8 };

/* 8 sums as steps of the result. */
AVX2_TARGET static inline __m256i avx2_steps(const struct depthwise *dw,
                                             __m256i sums, int64_t at)
{
    return _mm256_cvtps_epi32(_mm256_fmadd_ps(_mm256_cvtepi32_ps(sums),
                                              _mm256_loadu_ps(dw->scale + at),
                                              _mm256_loadu_ps(dw->bias + at)));
}

/* The sums of a block as bytes. */
AVX2_TARGET static inline __m128i
avx2_bytes(const struct depthwise *dw, __m256i low, __m256i high, int64_t c)
{
    __m256i words = _mm256_packs_epi32(avx2_steps(dw, low, c),
                                       avx2_steps(dw, high, c + avx2_part));
    __m128i bytes;

    words = _mm256_adds_epi16(words, _mm256_set1_epi16(dw->zero));
    bytes = _mm_packus_epi16(_mm256_castsi256_si128(words),
                             _mm256_extracti128_si256(words, 1));
    bytes = _mm_max_epu8(bytes, _mm_set1_epi8((char)dw->low));
    bytes = _mm_min_epu8(bytes, _mm_set1_epi8((char)dw->high));
    return _mm_xor_si128(bytes, _mm_set1_epi8((char)dw->y_flip));
}

/* 16 channels, or as many as are left, as numbers of 16 bits. */
AVX2_TARGET static inline __m256i avx2_load(const uint8_t *x, int64_t left,
                                            bool is_signed)
{
    uint8_t rest[avx2_block] = {0};
    __m128i bytes;

    if (left < avx2_block)
        x = memcpy(rest, x, (size_t)left);
    bytes = _mm_loadu_si128((const __m128i *)x);
    return is_signed ? _mm256_cvtepi8_epi16(bytes)
                     : _mm256_cvtepu8_epi16(bytes);
}

AVX2_TARGET static inline __m256i avx2_add(__m256i sums, __m256i x,
                                           const __m256i *weights)
{
    return _mm256_add_epi32(sums,
                            _mm256_madd_epi16(x, _mm256_loadu_si256(weights)));
}

AVX2_TARGET static inline void avx2_store(uint8_t *y, __m128i bytes, int64_t n)
{
    uint8_t all[avx2_block];

    if (n >= avx2_block) {
        _mm_storeu_si128((__m128i *)y, bytes);
        return;
    }
    _mm_storeu_si128((__m128i *)all, bytes);
    memcpy(y, all, (size_t)n);
}

AVX2_TARGET static inline __m128i avx2_block_at(const struct depthwise *dw,
                                                const uint8_t *const *taps,
                                                int64_t c, bool is_signed)
{
    const __m256i *weights =
        (const __m256i *)((const int16_t *)dw->weights + c * dw->n_groups * 2);
    int64_t left = dw->channels - c;
    __m256i low = _mm256_loadu_si256((const __m256i *)(dw->first + c));
    __m256i high =
        _mm256_loadu_si256((const __m256i *)(dw->first + c + avx2_part));

    for (int64_t g = 0; g < dw->n_groups; g++, weights += 2) {
        __m256i a = avx2_load(taps[2 * g] + c, left, is_signed);
        __m256i b = avx2_load(taps[2 * g + 1] + c, left, is_signed);

        low = avx2_add(low, _mm256_unpacklo_epi16(a, b), weights);
        high = avx2_add(high, _mm256_unpackhi_epi16(a, b), weights + 1);
    }
    return avx2_bytes(dw, low, high, c);
}

__attribute__((target("avx2,fma"))) static void
avx2_place(const struct depthwise *dw, const uint8_t *const *taps, uint8_t *y,
           int64_t room)
{
    for (int64_t c = 0; c < dw->channels; c += avx2_block) {
        int64_t left = dw->channels - c;
        __m128i bytes = dw->x_flip ? avx2_block_at(dw, taps, c, true)
                                   : avx2_block_at(dw, taps, c, false);

        avx2_store(y + c, bytes, room - c < avx2_block ? left : avx2_block);
    }
}

/* Of a column: pairs of its first two taps, and the third one twice. */
struct avx2_column {
    __m256i low, high, low2, high2;
};

AVX2_TARGET static inline struct avx2_column
avx2_column(const struct depthwise_places *places, int64_t at, int64_t c,
            int64_t left, bool is_signed)
{
    __m256i x0 =
        avx2_load(places->rows[0] + at * places->steps[0] + c, left, is_signed);
    __m256i x1 =
        avx2_load(places->rows[1] + at * places->steps[1] + c, left, is_signed);
    __m256i x2 =
        avx2_load(places->rows[2] + at * places->steps[2] + c, left, is_signed);

    return (struct avx2_column){
        _mm256_unpacklo_epi16(x0, x1), _mm256_unpackhi_epi16(x0, x1),
        _mm256_unpacklo_epi16(x2, x2), _mm256_unpackhi_epi16(x2, x2)};
}

/* The sums of a block. */
struct avx2_sums {
    __m256i low, high;
};

AVX2_TARGET static inline struct avx2_sums
avx2_first(const struct depthwise *dw, int64_t c)
{
    const __m256i *first = (const __m256i *)(dw->first + c);

    return (struct avx2_sums){_mm256_loadu_si256(first),
                              _mm256_loadu_si256(first + 1)};
}

AVX2_TARGET static inline struct avx2_sums
avx2_add_column(struct avx2_sums sums, struct avx2_column x,
                const __m256i *weights)
{
    sums.low = avx2_add(sums.low, x.low, weights);
    sums.high = avx2_add(sums.high, x.high, weights + 1);
    sums.low = avx2_add(sums.low, x.low2, weights + 2);
    sums.high = avx2_add(sums.high, x.high2, weights + 3);
    return sums;
}

/* Every column is added to all places that it is in, whose sums are fewer
 * registers than columns would be. */
AVX2_TARGET static inline void
avx2_places_of(const struct depthwise *dw,
               const struct depthwise_places *places, int64_t c, bool is_signed,
               bool is_dense, bool is_whole)
{
    const __m256i *w0 =
        (const __m256i *)((const int16_t *)dw->columns + 12 * c);
    const __m256i *w1 = w0 + 4, *w2 = w0 + 8;
    int64_t left = is_whole ? avx2_block : dw->channels - c;
    struct avx2_column x = avx2_column(places, 0, c, left, is_signed);
    struct avx2_sums sums = avx2_add_column(avx2_first(dw, c), x, w0), next;

    x = avx2_column(places, 1, c, left, is_signed);
    sums = avx2_add_column(sums, x, w1);
    next = avx2_add_column(avx2_first(dw, c), x, w0);
    for (int64_t i = 0; i < places->n; i++) {
        int64_t at = i * places->stride;
        __m128i bytes;

        x = avx2_column(places, at + 2, c, left, is_signed);
        sums = avx2_add_column(sums, x, w2);
        bytes = avx2_bytes(dw, sums.low, sums.high, c);
        avx2_store(places->y + i * dw->channels + c, bytes, left);
        if (is_dense) {
            sums = avx2_add_column(next, x, w1);
            next = avx2_add_column(avx2_first(dw, c), x, w0);
        } else if (i + 1 < places->n) {
            sums = avx2_add_column(avx2_first(dw, c), x, w0);
            x = avx2_column(places, at + 3, c, left, is_signed);
            sums = avx2_add_column(sums, x, w1);
        }
    }
}

__attribute__((target("avx2,fma"))) static void
avx2_places(const struct depthwise *dw, const struct depthwise_places *places)
{
    bool is_dense = places->stride == 1;

    for (int64_t c = 0; c < dw->channels; c += avx2_block) {
        bool is_whole = dw->channels - c >= avx2_block;

        if (is_whole && !dw->x_flip && is_dense)
            avx2_places_of(dw, places, c, false, true, true);
        else if (is_whole && !dw->x_flip)
            avx2_places_of(dw, places, c, false, false, true);
        else
            avx2_places_of(dw, places, c, dw->x_flip != 0, is_dense, is_whole);
    }
}

/* -------------------------------------------------------------------------- */

static const struct depthwise_kind vnni_kind = {.name = "avx512_vnni",
                                                .block = vnni_block,
                                                .parts = 4,
                                                .group = 4,
                                                .columns = 1,
                                                .has_bytes = true,
                                                .place = vnni_place,
                                                .places = vnni_places};
static const struct depthwise_kind avx2_kind = {.name = "avx2",
                                                .block = avx2_block,
                                                .parts = 2,
                                                .group = 2,
                                                .columns = 2,
                                                .place = avx2_place,
                                                .places = avx2_places};

const struct depthwise_kind *depthwise_find(bool fits_bytes)
{
    if (fits_bytes && processor_level() >= PROCESSOR_AVX512 &&
        __builtin_cpu_supports("avx512vnni"))
        return &vnni_kind;
    return processor_level() >= PROCESSOR_AVX2 && __builtin_cpu_supports("fma")
               ? &avx2_kind
               : NULL;
}
#else
const struct depthwise_kind *depthwise_find(bool fits_bytes)
{
    (void)fits_bytes;
    return NULL;
}
#endif
