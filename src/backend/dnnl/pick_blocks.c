/* backend/dnnl/pick_blocks.c - PickChannels on maps in channel blocks: the
 * lanes of a block come from those of a few others, the same for all pixels. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/dnnl/concat_places.h"
#include "base/processor.h"
#include "ops/movement/pick_channels.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { max_lanes = 16 };

/* Lanes of one block of a map. */
struct lane_source {
    const float *from;
    int32_t lanes[max_lanes];   /* which of its lanes goes to lane i, */
    int32_t is_here[max_lanes]; /* -1: goes there; 0: does not */
};

/* What one block of the output is made of. Lanes that nothing goes to become
 * 0. */
struct block_pick {
    size_t n;
    struct lane_source of[max_lanes];
};

static void pick_plain(const struct block_pick *pick, int64_t block,
                       int64_t pixels, float *to)
{
    memset(to, 0, (size_t)(pixels * block) * sizeof *to);
    for (size_t i = 0; i < pick->n; i++) {
        const struct lane_source *source = &pick->of[i];

        for (int64_t c = 0; c < block; c++) {
            const float *from = source->from + source->lanes[c];

            for (int64_t p = 0; source->is_here[c] && p < pixels; p++)
                to[p * block + c] = from[p * block];
        }
    }
}

#ifdef __x86_64__
/* n is a constant where there are few sources, so that places and masks stay in
 * registers. */
__attribute__((target("avx512f"), always_inline)) static inline void
pick_vectors_avx512(const struct block_pick *pick, size_t n, int64_t pixels,
                    float *to)
{
    enum { width = 16 };
    __m512i places[max_lanes];
    __mmask16 masks[max_lanes];
    const float *from[max_lanes];

    for (size_t i = 0; i < n; i++) {
        from[i] = pick->of[i].from;
        places[i] = _mm512_loadu_si512(pick->of[i].lanes);
        masks[i] = _mm512_cmpneq_epi32_mask(
            _mm512_loadu_si512(pick->of[i].is_here), _mm512_setzero_si512());
    }
    for (int64_t p = 0; p < pixels; p++) {
        __m512 r = _mm512_setzero_ps();

        for (size_t i = 0; i < n; i++)
            r = _mm512_mask_permutexvar_ps(
                r, masks[i], places[i], _mm512_loadu_ps(from[i] + p * width));
        _mm512_storeu_ps(to + p * width, r);
    }
}

__attribute__((target("avx2"), always_inline)) static inline void
pick_vectors_avx2(const struct block_pick *pick, size_t n, int64_t pixels,
                  float *to)
{
    enum { width = 8 };
    __m256i places[max_lanes];
    __m256 masks[max_lanes];
    const float *from[max_lanes];

    for (size_t i = 0; i < n; i++) {
        from[i] = pick->of[i].from;
        places[i] = _mm256_loadu_si256((const void *)pick->of[i].lanes);
        masks[i] = _mm256_castsi256_ps(
            _mm256_loadu_si256((const void *)pick->of[i].is_here));
    }
    for (int64_t p = 0; p < pixels; p++) {
        __m256 r = _mm256_setzero_ps();

        for (size_t i = 0; i < n; i++) {
            __m256 x = _mm256_loadu_ps(from[i] + p * width);

            x = _mm256_permutevar8x32_ps(x, places[i]);
            r = _mm256_blendv_ps(r, x, masks[i]);
        }
        _mm256_storeu_ps(to + p * width, r);
    }
}

#define PICK_BLOCK(name, sets, vectors)                                        \
    __attribute__((target(sets))) static void name(                            \
        const struct block_pick *pick, int64_t pixels, float *to)              \
    {                                                                          \
        switch (pick->n) {                                                     \
        case 1:                                                                \
            vectors(pick, 1, pixels, to);                                      \
            break;                                                             \
        case 2:                                                                \
            vectors(pick, 2, pixels, to);                                      \
            break;                                                             \
        case 3:                                                                \
            vectors(pick, 3, pixels, to);                                      \
            break;                                                             \
        case 4:                                                                \
            vectors(pick, 4, pixels, to);                                      \
            break;                                                             \
        case 5:                                                                \
            vectors(pick, 5, pixels, to);                                      \
            break;                                                             \
        case 6:                                                                \
            vectors(pick, 6, pixels, to);                                      \
            break;                                                             \
        default:                                                               \
            vectors(pick, pick->n, pixels, to);                                \
            break;                                                             \
        }                                                                      \
    }
PICK_BLOCK(pick_avx512, "avx512f", pick_vectors_avx512)
PICK_BLOCK(pick_avx2, "avx2", pick_vectors_avx2)
#endif

static bool is_whole(const struct block_pick *pick, int64_t block)
{
    for (int64_t c = 0; c < block; c++) {
        if (!pick->of[0].is_here[c] || pick->of[0].lanes[c] != c)
            return false;
    }
    return pick->n == 1;
}

static void pick_block(const struct block_pick *pick, int64_t block,
                       int64_t pixels, float *to)
{
    if (is_whole(pick, block)) {
        memcpy(to, pick->of[0].from, (size_t)(pixels * block) * sizeof *to);
        return;
    }
#ifdef __x86_64__
    if (block == 16 && processor_level() >= PROCESSOR_AVX512) {
        pick_avx512(pick, pixels, to);
        return;
    }
    if (block == 8 && processor_level() >= PROCESSOR_AVX2) {
        pick_avx2(pick, pixels, to);
        return;
    }
#endif
    pick_plain(pick, block, pixels, to);
}

static void add_lane(struct block_pick *pick, const float *from, int32_t lane,
                     int64_t to)
{
    size_t i = 0;

    while (i < pick->n && pick->of[i].from != from)
        i++;
    if (i == pick->n)
        pick->of[pick->n++] = (struct lane_source){.from = from};
    pick->of[i].lanes[to] = lane;
    pick->of[i].is_here[to] = -1;
}

/* Block b of an image of the output. */
static void find_lanes(const struct job *job, const struct tensor *const *list,
                       const struct channel_blocks *blocks, int64_t image,
                       int64_t b, struct block_pick *pick)
{
    const struct tensor *indices = list[job->node->n_inputs - 1];
    int64_t block = blocks->block, size = blocks->plane * block;

    pick->n = 0;
    for (int64_t c = 0; c < block && b * block + c < job->y.dims[1]; c++) {
        struct picked_channel picked = {0};
        const struct tensor *map;
        int64_t n_blocks;

        (void)pick_channel(job->node, list, tensor_i64(indices)[b * block + c],
                           &picked);
        map = list[picked.map];
        n_blocks = (map->shape.dims[1] + block - 1) / block;
        add_lane(pick,
                 tensor_f32(map) +
                     (image * n_blocks + picked.channel / block) * size,
                 (int32_t)(picked.channel % block), c);
    }
}

static void pick_all(const struct job *job, const struct tensor *const *list,
                     const struct channel_blocks *from, struct tensor *y)
{
    int64_t block = from->block, plane = from->plane;
    int64_t n_blocks = (job->y.dims[1] + block - 1) / block;
    int64_t n = job->y.dims[0] * n_blocks;

#pragma omp parallel for if (n * plane * block > parallel_elements)
    for (int64_t i = 0; i < n; i++) {
        struct block_pick pick;

        find_lanes(job, list, from, i / n_blocks, i % n_blocks, &pick);
        pick_block(&pick, block, plane, tensor_f32(y) + i * plane * block);
    }
}

enum assay_status forward_pick_channels(struct onednn *dn, struct job *job,
                                        const struct tensor *const *inputs,
                                        struct tensor *y, struct error *err)
{
    size_t n_maps = job->node->n_inputs - 1;
    struct tensor own[OP_MAX_VALUES];
    const struct tensor *list[OP_MAX_VALUES];
    struct channel_blocks blocks;
    enum assay_status st;

    if (!passing_find_blocks(inputs, n_maps, &blocks) ||
        blocks.block > max_lanes)
        return own_kernel(dn, job, inputs, y, err);
    st = passing_convert(dn, job, inputs, n_maps, blocks.order, own, list, err);
    list[n_maps] = inputs[n_maps];
    if (!st)
        st = pick_check(job->node, inputs, err);
    if (!st)
        st = places_tensor(dn, job, layout_ordered(dn, &job->y, blocks.order),
                           y, err);
    if (!st)
        pick_all(job, list, &blocks, y);
    passing_release(own, n_maps);
    return st;
}
