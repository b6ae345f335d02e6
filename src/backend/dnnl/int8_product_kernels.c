/* backend/dnnl/int8_product_kernels.c - see int8_product.h.
 *
 * VNNI multiplies bytes. With AVX2, an instruction multiplies bytes and adds
 * pairs of products in 16 bits, which are enough for weights whose sum is at
 * most 128 in a pair. Larger ones are divided, and what is left of them is
 * added afterwards. Where that is the case too often, numbers of 16 bits are
 * multiplied, which has half the speed and needs no care.
 *
 * Loops over the rows and vectors of a tile have constant ends where they are
 * inlined, so that all sums stay in registers. */
#include "backend/dnnl/int8_product.h"

#include "base/processor.h"

#include <stddef.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>

#define UNROLL _Pragma("GCC unroll 8")

/* A group of inputs. */
static inline int product_group(const void *row, int64_t at)
{
    int group;

    memcpy(&group, (const uint8_t *)row + 4 * at, sizeof group);
    return group;
}

/* ---- stores of so many bytes as are outputs ------------------------------ */

/* Less than 16 bytes. */
static inline void product_store_few(uint8_t *y, __m128i bytes, int64_t n)
{
    if (n & 8) {
        _mm_storel_epi64((__m128i *)y, bytes);
        bytes = _mm_srli_si128(bytes, 8);
        y += 8;
    }
    if (n & 4) {
        int four = _mm_cvtsi128_si32(bytes);

        memcpy(y, &four, sizeof four);
        bytes = _mm_srli_si128(bytes, 4);
        y += 4;
    }
    if (n & 3) {
        int rest = _mm_cvtsi128_si32(bytes);

        memcpy(y, &rest, (size_t)(n & 3));
    }
}

static inline void product_store(uint8_t *y, __m128i bytes, int64_t n)
{
    if (n >= 16)
        _mm_storeu_si128((__m128i *)y, bytes);
    else
        product_store_few(y, bytes, n);
}

/* ---- AVX2 ---------------------------------------------------------------- */

#define AVX2_TARGET __attribute__((target("avx2,fma"), always_inline))

/* Bytes leave a register less to the sums. */
enum { avx2_lanes = 8, avx2_vectors = 2, avx2_rows = 6, avx2_byte_rows = 4 };

AVX2_TARGET static inline __m256i avx2_steps(const struct product_strip *strip,
                                             __m256i sums, int64_t at)
{
    return _mm256_cvtps_epi32(_mm256_fmadd_ps(
        _mm256_cvtepi32_ps(sums), _mm256_loadu_ps(strip->scale + at),
        _mm256_loadu_ps(strip->bias + at)));
}

/* 16 outputs of two pixels, as bytes. */
AVX2_TARGET static inline __m256i avx2_bytes(const struct product_end *end,
                                             __m256i one, __m256i other)
{
    __m256i zero = _mm256_set1_epi16(end->zero), bytes;

    bytes = _mm256_packus_epi16(_mm256_adds_epi16(one, zero),
                                _mm256_adds_epi16(other, zero));
    bytes = _mm256_max_epu8(bytes, _mm256_set1_epi8((char)end->low));
    bytes = _mm256_min_epu8(bytes, _mm256_set1_epi8((char)end->high));
    bytes = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)end->flip));
    /* Packing takes turns of four numbers. */
    return _mm256_permutevar8x32_epi32(
        bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

AVX2_TARGET static inline __m256i avx2_words(const struct product_strip *strip,
                                             const __m256i *sums, int vectors)
{
    __m256i low = avx2_steps(strip, sums[0], 0);

    return _mm256_packs_epi32(
        low, vectors > 1 ? avx2_steps(strip, sums[1], avx2_lanes) : low);
}

AVX2_TARGET static inline __m256i avx2_add(__m256i sums, __m256i x, __m256i w,
                                           bool has_bytes)
{
    __m256i products = has_bytes ? _mm256_madd_epi16(_mm256_maddubs_epi16(x, w),
                                                     _mm256_set1_epi16(1))
                                 : _mm256_madd_epi16(x, w);

    return _mm256_add_epi32(sums, products);
}

/* What the weights of output vector v have left. */
AVX2_TARGET static inline void avx2_add_rest(const struct product_rest *rest,
                                             const uint8_t *const *x,
                                             __m256i sums[][avx2_vectors],
                                             int rows, int v)
{
    for (int32_t i = rest->ends[v]; i < rest->ends[v + 1]; i++) {
        __m256i w = _mm256_loadu_si256((const __m256i *)rest->weights + i);

        UNROLL
        for (int r = 0; r < rows; r++)
            sums[r][v] = avx2_add(
                sums[r][v],
                _mm256_set1_epi32(product_group(x[r], rest->groups[i])), w,
                true);
    }
}

AVX2_TARGET static inline void avx2_tile(const struct product_strip *strip,
                                         int64_t pixel, int rows, int vectors,
                                         bool has_bytes)
{
    int64_t left = strip->n_pixels - pixel;
    const uint8_t *from = strip->x + pixel * strip->x_step;
    uint8_t *to = strip->y + pixel * strip->y_step;
    __m256i sums[avx2_rows][avx2_vectors];
    const uint8_t *x[avx2_rows];
    const __m256i *weights = strip->weights;
    ptrdiff_t step = strip->n_groups;

    UNROLL
    for (int r = 0; r < rows; r++) {
        x[r] = from + (r < left ? r : 0) * strip->x_step;
        UNROLL
        for (int v = 0; v < vectors; v++)
            sums[r][v] = _mm256_loadu_si256(
                (const __m256i *)(strip->first + v * avx2_lanes));
    }
    for (int64_t g = 0; g < strip->n_groups; g++, weights++) {
        __m256i w[avx2_vectors];

        UNROLL
        for (int v = 0; v < vectors; v++)
            w[v] = _mm256_loadu_si256(weights + v * step);
        UNROLL
        for (int r = 0; r < rows; r++) {
            __m256i inputs = _mm256_set1_epi32(product_group(x[r], g));

            UNROLL
            for (int v = 0; v < vectors; v++)
                sums[r][v] = avx2_add(sums[r][v], inputs, w[v], has_bytes);
        }
    }
    UNROLL
    for (int v = 0; has_bytes && v < vectors; v++)
        avx2_add_rest(&strip->rest, x, sums, rows, v);
    UNROLL
    for (int r = 0; r < rows; r += 2) {
        __m256i one = avx2_words(strip, sums[r], vectors);
        __m256i other =
            r + 1 < rows ? avx2_words(strip, sums[r + 1], vectors) : one;
        __m256i bytes = avx2_bytes(strip->end, one, other);
        uint8_t *y = to + r * strip->y_step;

        if (r < left)
            product_store(y, _mm256_castsi256_si128(bytes), strip->n_outputs);
        if (r + 1 < left)
            product_store(y + strip->y_step, _mm256_extracti128_si256(bytes, 1),
                          strip->n_outputs);
    }
}

AVX2_TARGET static inline void avx2_strip(const struct product_strip *strip,
                                          int rows, int vectors, bool has_bytes)
{
    if (strip->n_pixels == 1)
        avx2_tile(strip, 0, 1, vectors, has_bytes);
    for (int64_t i = 0; strip->n_pixels > 1 && i < strip->n_pixels; i += rows)
        avx2_tile(strip, i, rows, vectors, has_bytes);
}

__attribute__((target("avx2,fma"))) static void
avx2_run_words(const struct product_strip *strip)
{
    if (strip->n_outputs <= avx2_lanes)
        avx2_strip(strip, avx2_rows, 1, false);
    else
        avx2_strip(strip, avx2_rows, avx2_vectors, false);
}

__attribute__((target("avx2,fma"))) static void
avx2_run_bytes(const struct product_strip *strip)
{
    if (strip->n_outputs <= avx2_lanes)
        avx2_strip(strip, avx2_byte_rows, 1, true);
    else
        avx2_strip(strip, avx2_byte_rows, avx2_vectors, true);
}

__attribute__((target("avx2"))) static void avx2_take_words(const uint8_t *x,
                                                            uint8_t flip,
                                                            void *to, int64_t n,
                                                            int64_t room)
{
    int16_t *y = to;
    int64_t i = 0;

    for (; i < n && i + 16 <= room; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(x + i));

        _mm256_storeu_si256((__m256i *)(y + i),
                            flip ? _mm256_cvtepi8_epi16(bytes)
                                 : _mm256_cvtepu8_epi16(bytes));
    }
    for (; i < n; i++)
        y[i] = flip ? (int8_t)x[i] : (int16_t)x[i];
}

/* ---- bytes --------------------------------------------------------------- */

static void product_take_bytes(const uint8_t *x, uint8_t flip, void *to,
                               int64_t n, int64_t room)
{
    __m128i flips = _mm_set1_epi8((char)flip);
    uint8_t *y = to;
    int64_t i = 0;

    for (; i < n && i + 16 <= room; i += 16)
        _mm_storeu_si128(
            (__m128i *)(y + i),
            _mm_xor_si128(_mm_loadu_si128((const __m128i *)(x + i)), flips));
    for (; i < n; i++)
        y[i] = x[i] ^ flip;
}

void product_take_windows(const struct product_windows *windows)
{
    uint8_t *to = windows->to;

    for (int64_t i = 0; i < windows->n; i++, to += windows->to_step) {
        for (int64_t r = 0; r < windows->n_rows; r++)
            product_take_bytes(windows->rows[r] + i * windows->steps[r],
                               windows->flip, to + r * windows->line,
                               windows->line, INT64_MAX);
    }
}

/* ---- VNNI ---------------------------------------------------------------- */

#define VNNI_SETS   "avx512f,avx512bw,avx512vnni"
#define VNNI_TARGET __attribute__((target(VNNI_SETS), always_inline))

enum { vnni_lanes = 16, vnni_vectors = 4, vnni_rows = 6 };

VNNI_TARGET static inline __m512i vnni_steps(const struct product_strip *strip,
                                             __m512i sums, int64_t at)
{
    return _mm512_cvtps_epi32(_mm512_fmadd_ps(
        _mm512_cvtepi32_ps(sums), _mm512_loadu_ps(strip->scale + at),
        _mm512_loadu_ps(strip->bias + at)));
}

/* Up to 64 outputs of a pixel, as bytes. */
VNNI_TARGET static inline __m512i vnni_bytes(const struct product_strip *strip,
                                             const __m512i *sums, int vectors)
{
    const struct product_end *end = strip->end;
    __m512i zero = _mm512_set1_epi16(end->zero);
    __m512i a = vnni_steps(strip, sums[0], 0), low, high, bytes;

    low = _mm512_packs_epi32(
        a, vectors > 1 ? vnni_steps(strip, sums[1], vnni_lanes) : a);
    low = high = _mm512_adds_epi16(low, zero);
    if (vectors > 2) {
        a = vnni_steps(strip, sums[2], 2 * vnni_lanes);
        high = _mm512_packs_epi32(
            a, vectors > 3 ? vnni_steps(strip, sums[3], 3 * vnni_lanes) : a);
        high = _mm512_adds_epi16(high, zero);
    }
    bytes = _mm512_packus_epi16(low, high);
    bytes = _mm512_max_epu8(bytes, _mm512_set1_epi8((char)end->low));
    bytes = _mm512_min_epu8(bytes, _mm512_set1_epi8((char)end->high));
    bytes = _mm512_xor_si512(bytes, _mm512_set1_epi8((char)end->flip));
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
        bytes);
}

VNNI_TARGET static inline void vnni_store(uint8_t *y, __m512i bytes, int64_t n)
{
    __m256i half = _mm512_castsi512_si256(bytes);

    if (n >= 64) {
        _mm512_storeu_si512(y, bytes);
        return;
    }
    if (n >= 32) {
        _mm256_storeu_si256((__m256i *)y, half);
        half = _mm512_extracti64x4_epi64(bytes, 1);
        y += 32;
        n -= 32;
    }
    product_store(y, _mm256_castsi256_si128(half), n);
    if (n > 16)
        product_store_few(y + 16, _mm256_extracti128_si256(half, 1), n - 16);
}

VNNI_TARGET static inline void vnni_tile(const struct product_strip *strip,
                                         int64_t pixel, int rows, int vectors)
{
    int64_t left = strip->n_pixels - pixel;
    const uint8_t *from = strip->x + pixel * strip->x_step;
    uint8_t *to = strip->y + pixel * strip->y_step;
    __m512i sums[vnni_rows][vnni_vectors];
    const uint8_t *x[vnni_rows];
    const int8_t *weights = strip->weights;
    ptrdiff_t step = strip->n_groups * 64;

    UNROLL
    for (int r = 0; r < rows; r++) {
        x[r] = from + (r < left ? r : 0) * strip->x_step;
        UNROLL
        for (int v = 0; v < vectors; v++)
            sums[r][v] = _mm512_loadu_si512(strip->first + v * vnni_lanes);
    }
    for (int64_t g = 0; g < strip->n_groups; g++, weights += 64) {
        __m512i w[vnni_vectors];

        UNROLL
        for (int v = 0; v < vectors; v++)
            w[v] = _mm512_loadu_si512(weights + v * step);
        UNROLL
        for (int r = 0; r < rows; r++) {
            __m512i inputs = _mm512_set1_epi32(product_group(x[r], g));

            UNROLL
            for (int v = 0; v < vectors; v++)
                sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], inputs, w[v]);
        }
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        if (r < left)
            vnni_store(to + r * strip->y_step,
                       vnni_bytes(strip, sums[r], vectors), strip->n_outputs);
    }
}

/* Not inlined: what would be kept in registers from tile to tile would leave
 * too few for the sums. */
#define VNNI_STRIP(name, vectors)                                              \
    __attribute__((target(VNNI_SETS), noinline)) static void name##_tile(      \
        const struct product_strip *strip, int64_t pixel)                      \
    {                                                                          \
        vnni_tile(strip, pixel, vnni_rows, vectors);                           \
    }                                                                          \
    __attribute__((target(VNNI_SETS))) static void name(                       \
        const struct product_strip *strip)                                     \
    {                                                                          \
        if (strip->n_pixels == 1)                                              \
            vnni_tile(strip, 0, 1, vectors);                                   \
        for (int64_t i = 0; strip->n_pixels > 1 && i < strip->n_pixels;        \
             i += vnni_rows)                                                   \
            name##_tile(strip, i);                                             \
    }
VNNI_STRIP(vnni_strip_1, 1)
VNNI_STRIP(vnni_strip_2, 2)
VNNI_STRIP(vnni_strip_3, 3)
VNNI_STRIP(vnni_strip_4, 4)

static void vnni_run(const struct product_strip *strip)
{
    static void (*const strips[vnni_vectors])(const struct product_strip *) = {
        vnni_strip_1, vnni_strip_2, vnni_strip_3, vnni_strip_4};

    strips[(strip->n_outputs - 1) / vnni_lanes](strip);
}

/* -------------------------------------------------------------------------- */

static const struct product_kind words_kind = {.name = "avx2",
                                               .lanes = avx2_lanes,
                                               .vectors = avx2_vectors,
                                               .group = 2,
                                               .rows = avx2_rows,
                                               .run = avx2_run_words,
                                               .take = avx2_take_words};
static const struct product_kind bytes_kind = {.name = "avx2 bytes",
                                               .lanes = avx2_lanes,
                                               .vectors = avx2_vectors,
                                               .group = 4,
                                               .rows = avx2_byte_rows,
                                               .has_bytes = true,
                                               .has_rest = true,
                                               .run = avx2_run_bytes,
                                               .take = product_take_bytes};
static const struct product_kind vnni_kind = {.name = "avx512_vnni",
                                              .lanes = vnni_lanes,
                                              .vectors = vnni_vectors,
                                              .group = 4,
                                              .rows = vnni_rows,
                                              .has_bytes = true,
                                              .run = vnni_run,
                                              .take = product_take_bytes};

const struct product_kind *product_find_wide(void)
{
    return processor_level() >= PROCESSOR_AVX2 && __builtin_cpu_supports("fma")
               ? &words_kind
               : NULL;
}

const struct product_kind *product_find(bool fits_bytes)
{
    const struct product_kind *wide = product_find_wide();

    if (!fits_bytes || !wide)
        return wide;
    return processor_level() >= PROCESSOR_AVX512 &&
                   __builtin_cpu_supports("avx512vnni")
               ? &vnni_kind
               : &bytes_kind;
}
#else
const struct product_kind *product_find_wide(void)
{
    return NULL;
}

const struct product_kind *product_find(bool fits_bytes)
{
    (void)fits_bytes;
    return NULL;
}

void product_take_windows(const struct product_windows *windows)
{
    (void)windows;
}
#endif
