/* backend/dnnl/pool_blocks.c - means and maxima of windows, of maps in channel
 * blocks: for dense maps oneDNN has plain code alone, for means with AVX2, for
 * maxima always. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/dnnl/concat_places.h"
#include "base/processor.h"

#include <math.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* One row of outputs of one block. */
struct pool_row {
    const struct windows *windows;
    const float *plane; /* of the input */
    int64_t height, width, row, n;
};

/* Where a window meets the input. */
struct pool_span {
    int64_t first, end;
};

static struct pool_span pool_span(const struct windows *windows, int axis,
                                  int64_t at, int64_t size)
{
    int64_t first = at * windows->stride[axis] - windows->before[axis];
    int64_t end = first + windows->kernel[axis];

    return (struct pool_span){first > 0 ? first : 0, end < size ? end : size};
}

/* What the sum of a window is divided by. */
static float pool_divisor(const struct windows *windows, struct pool_span rows,
                          struct pool_span columns)
{
    if (windows->algorithm == ALGORITHM_MEAN_WITH_PADDING)
        return (float)(windows->kernel[0] * windows->kernel[1]);
    return (float)((rows.end - rows.first) * (columns.end - columns.first));
}

#ifdef __x86_64__
#define POOL_ROW(name, sets, vec, lanes_of, load, store, start, take, made)    \
    __attribute__((target(sets))) static void name(const struct pool_row *row, \
                                                   float *y)                   \
    {                                                                          \
        const struct windows *windows = row->windows;                          \
        struct pool_span rows = pool_span(windows, 0, row->row, row->height);  \
                                                                               \
        for (int64_t k = 0; k < row->n; k++) {                                 \
            struct pool_span columns = pool_span(windows, 1, k, row->width);   \
            vec all = start;                                                   \
                                                                               \
            for (int64_t i = rows.first; i < rows.end; i++) {                  \
                const float *x = row->plane + i * row->width * (lanes_of);     \
                                                                               \
                for (int64_t j = columns.first; j < columns.end; j++)          \
                    all = take(all, load(x + j * (lanes_of)));                 \
            }                                                                  \
            store(y + k * (lanes_of), made);                                   \
        }                                                                      \
    }

/* The larger one; NaN if either is, where max() returns its second. */
#define MAX_512(a, b)                                                          \
    _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q),               \
                         _mm512_max_ps(a, b), a)
#define MAX_256(a, b)                                                          \
    _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q))

/* The mean of each channel of a whole plane, with sums beside each other, so
 * that none waits for the last addition. */
#define POOL_PLANE(name, sets, vec, lanes_of, load, store)                     \
    __attribute__((target(sets))) static void name(const float *x,             \
                                                   int64_t pixels, float *y)   \
    {                                                                          \
        vec a = {0}, b = {0}, c = {0}, d = {0};                                \
        int64_t left = pixels;                                                 \
                                                                               \
        for (; left >= 4; left -= 4, x += 4 * (lanes_of)) {                    \
            a += load(x);                                                      \
            b += load(x + (lanes_of));                                         \
            c += load(x + 2 * (lanes_of));                                     \
            d += load(x + 3 * (lanes_of));                                     \
        }                                                                      \
        for (; left > 0; left--, x += (lanes_of))                              \
            a += load(x);                                                      \
        store(y, ((a + b) + (c + d)) / (float)pixels);                         \
    }

POOL_PLANE(plane_avx512, "avx512f", __m512, 16, _mm512_loadu_ps,
           _mm512_storeu_ps)
POOL_PLANE(plane_avx2, "avx2", __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps)
POOL_ROW(mean_avx512, "avx512f", __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps,
         _mm512_setzero_ps(), _mm512_add_ps,
         _mm512_div_ps(all,
                       _mm512_set1_ps(pool_divisor(windows, rows, columns))))
POOL_ROW(mean_avx2, "avx2", __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps,
         _mm256_setzero_ps(), _mm256_add_ps,
         _mm256_div_ps(all,
                       _mm256_set1_ps(pool_divisor(windows, rows, columns))))
POOL_ROW(max_avx512, "avx512f", __m512, 16, _mm512_loadu_ps, _mm512_storeu_ps,
         _mm512_set1_ps(-INFINITY), MAX_512, all)
POOL_ROW(max_avx2, "avx2", __m256, 8, _mm256_loadu_ps, _mm256_storeu_ps,
         _mm256_set1_ps(-INFINITY), MAX_256, all)
#endif

typedef void pool_kernel(const struct pool_row *row, float *y);

/* NULL: there is none for these blocks on this processor. */
static pool_kernel *pool_find(const struct windows *windows, int64_t block)
{
#ifdef __x86_64__
    bool is_max = windows->algorithm == ALGORITHM_MAX;

    if (block == 16 && processor_level() >= PROCESSOR_AVX512)
        return is_max ? max_avx512 : mean_avx512;
    if (block == 8 && processor_level() >= PROCESSOR_AVX2)
        return is_max ? max_avx2 : mean_avx2;
#endif
    (void)windows, (void)block;
    return NULL;
}

typedef void plane_kernel(const float *x, int64_t pixels, float *y);

/* Only for blocks that pool_find() has a kernel for. */
static plane_kernel *pool_find_plane(int64_t block)
{
#ifdef __x86_64__
    return block == 16 ? plane_avx512 : plane_avx2;
#else
    (void)block;
    return NULL;
#endif
}

bool pool_takes(const struct job *job, const struct windows *windows)
{
    enum { few = 8 }; /* channels that fill no block */
    struct channel_blocks blocks;

    if (job->is_training || job->x->shape.dims[1] < few ||
        !layout_blocks(job->x, &blocks) || processor_level() < PROCESSOR_AVX2)
        return false;
    if (blocks.order == ORDER_DENSE)
        return true;
    return windows->algorithm != ALGORITHM_MAX &&
           pool_find(windows, blocks.block);
}

static bool is_whole_plane(const struct windows *windows, const int64_t *x)
{
    return windows->algorithm != ALGORITHM_MAX && windows->kernel[0] == x[2] &&
           windows->kernel[1] == x[3] && !windows->before[0] &&
           !windows->before[1] && !windows->after[0] && !windows->after[1];
}

static void pool_planes(const struct channel_blocks *blocks, const float *x,
                        float *y)
{
    int64_t n = blocks->images * blocks->n_blocks;
    int64_t each = blocks->plane * blocks->block;
    plane_kernel *mean = pool_find_plane(blocks->block);

#pragma omp parallel for if (n * each > parallel_elements)
    for (int64_t i = 0; i < n; i++)
        mean(x + i * each, blocks->plane, y + i * blocks->block);
}

static void pool_all(const struct windows *windows, const struct tensor *from,
                     const struct tensor *made)
{
    const int64_t *x = from->shape.dims, *y = made->shape.dims;
    struct channel_blocks blocks;
    pool_kernel *kernel;
    int64_t n;

    if (!layout_blocks(from, &blocks))
        return; /* pool_takes() has seen to it */
    if (is_whole_plane(windows, x)) {
        pool_planes(&blocks, tensor_f32(from), tensor_f32(made));
        return;
    }
    n = blocks.images * blocks.n_blocks;
    kernel = pool_find(windows, blocks.block);
#pragma omp parallel for collapse(2) if (n * y[2] * y[3] * blocks.block >      \
                                         parallel_elements)
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < y[2]; k++)
            kernel(&(struct pool_row){.windows = windows,
                                      .plane = tensor_f32(from) +
                                               i * blocks.plane * blocks.block,
                                      .height = x[2],
                                      .width = x[3],
                                      .row = k,
                                      .n = y[3]},
                   tensor_f32(made) + (i * y[2] + k) * y[3] * blocks.block);
    }
}

enum assay_status pool_blocks(struct onednn *dn, const struct job *job,
                              const struct windows *windows, struct tensor *y,
                              struct error *err)
{
    struct channel_blocks blocks;
    enum order order = layout_own_blocks();
    struct tensor x;
    enum assay_status st;

    if (layout_blocks(job->x, &blocks) && blocks.order != ORDER_DENSE)
        order = blocks.order;
    st = layout_convert(dn, job->context->pool, job->x,
                        layout_ordered(dn, &job->x->shape, order), &x, err);
    if (st)
        return st;
    st = places_tensor(dn, job, layout_ordered(dn, &job->y, order), y, err);
    if (!st)
        pool_all(windows, &x, y);
    tensor_release(&x);
    return st;
}
