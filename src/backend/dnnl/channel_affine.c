/* backend/dnnl/channel_affine.c - maps scaled and shifted channel by channel,
 * with what may follow: a sum with another map, a ReLU.
 *
 * One pass over memory, whatever follows: that is what it costs. */
#include "backend/dnnl/channel_affine.h"

#include "base/variants.h"

#include <math.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* A block of channels of one image. */
struct affine_block {
    int64_t plane, block;
    const float *scale, *shift; /* of its first channel */
    const float *from, *plus;   /* plus: NULL, nothing is added */
    float high;
    float *to;
};

VARIANT_PART void write_pixels(const struct affine_block *b, int64_t block,
                               bool has_plus, bool has_relu)
{
    for (int64_t p = 0; p < b->plane; p++) {
        for (int64_t c = 0; c < block; c++) {
            int64_t at = p * block + c;
            float y = b->from[at] * b->scale[c] + b->shift[c];

            if (has_plus)
                y += b->plus[at];
            if (has_relu) {
                /* Written so that a NaN stays one. */
                y = y < 0 ? 0 : y;
                y = y > b->high ? b->high : y;
            }
            b->to[at] = y;
        }
    }
}

VARIANT_PART void write_any(const struct affine_block *b, bool has_plus,
                            bool has_relu)
{
    if (b->block == 1)
        write_pixels(b, 1, has_plus, has_relu);
    else
        write_pixels(b, b->block, has_plus, has_relu);
}

VARIANTS(void, write_block, (const struct affine_block *b, bool has_relu),
         (b, has_relu))
{
    if (b->plus && has_relu)
        write_any(b, true, true);
    else if (b->plus)
        write_any(b, true, false);
    else if (has_relu)
        write_any(b, false, true);
    else
        write_any(b, false, false);
}

#ifdef __x86_64__
/* A block that fills a vector; the same bits as above. A NaN stays one: minimum
 * and maximum answer with their second argument then. */
#define AFFINE_VECTORS(name, sets, vec, lanes_of, load, store, splat, add,     \
                       mul, lower, upper)                                      \
    __attribute__((target(sets))) static void name(                            \
        const struct affine_block *b, bool has_relu)                           \
    {                                                                          \
        vec scale = load(b->scale), shift = load(b->shift);                    \
        vec low = splat(has_relu ? 0 : -INFINITY);                             \
        vec high = splat(has_relu ? b->high : INFINITY);                       \
                                                                               \
        for (int64_t p = 0; p < b->plane; p++) {                               \
            int64_t at = p * (lanes_of);                                       \
            vec y = add(mul(load(b->from + at), scale), shift);                \
                                                                               \
            if (b->plus)                                                       \
                y = add(y, load(b->plus + at));                                \
            store(b->to + at, upper(high, lower(low, y)));                     \
        }                                                                      \
    }
AFFINE_VECTORS(affine_avx512, "avx512f", __m512, 16, _mm512_loadu_ps,
               _mm512_storeu_ps, _mm512_set1_ps, _mm512_add_ps, _mm512_mul_ps,
               _mm512_max_ps, _mm512_min_ps)
AFFINE_VECTORS(affine_avx2, "avx2", __m256, 8, _mm256_loadu_ps,
               _mm256_storeu_ps, _mm256_set1_ps, _mm256_add_ps, _mm256_mul_ps,
               _mm256_max_ps, _mm256_min_ps)
#endif

typedef void affine_kernel(const struct affine_block *b, bool has_relu);

static affine_kernel *find_affine(int64_t block)
{
#ifdef __x86_64__
    if (block == 16 && processor_level() >= PROCESSOR_AVX512)
        return affine_avx512;
    if (block == 8 && processor_level() >= PROCESSOR_AVX2)
        return affine_avx2;
#endif
    (void)block;
    return write_block;
}

void affine_channels(const struct channel_blocks *blocks,
                     const struct channel_affine *by, const float *from,
                     float *to)
{
    int64_t n = blocks->images * blocks->n_blocks;
    int64_t size = blocks->plane * blocks->block;
    affine_kernel *kernel = find_affine(blocks->block);

#pragma omp parallel for if (n * size > parallel_elements)
    for (int64_t i = 0; i < n; i++) {
        int64_t channel = i % blocks->n_blocks * blocks->block, at = i * size;
        struct affine_block block = {.plane = blocks->plane,
                                     .block = blocks->block,
                                     .scale = by->scale + channel,
                                     .shift = by->shift + channel,
                                     .from = from + at,
                                     .plus = by->plus ? by->plus + at : NULL,
                                     .high = by->high,
                                     .to = to + at};

        kernel(&block, by->has_relu);
    }
}
