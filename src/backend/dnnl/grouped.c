/* backend/dnnl/grouped.c - convolutions of 1x1 in groups, on maps in channel
 * blocks: where groups do not fill whole blocks, oneDNN wants dense maps or
 * blocks of 4, and where they do it is slower.
 *
 * A block of outputs reads the channels of the groups that it lies in, with
 * weights of 0 where an output is of another group. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/mem.h"
#include "base/processor.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Channels of x that a block of outputs reads, and where its weights are: a
 * vector for each of them. */
struct grouped_block {
    int64_t first, end;
    size_t weights;
};

struct grouped {
    int64_t width, n_blocks;
    struct grouped_block blocks[];
};

/* Some pixels of one block of outputs. */
struct grouped_tile {
    const float *x; /* at the first pixel, of the first block */
    int64_t plane;  /* floats from block to block of x */
    int64_t first, end;
    const float *weights;
    const float *bias; /* a vector */
    float *y;
    float low, high;
    bool adds;
};

#ifdef __x86_64__
/* `pixels` is a constant, so that the sums stay in registers. A NaN stays one:
 * of two numbers the comparisons give the second then. */
#define GROUPED_TILE(name, sets, vec, lanes_of, load, store, splat, add, fma,  \
                     lower, upper)                                             \
    __attribute__((target(sets), always_inline)) static inline void name(      \
        const struct grouped_tile *tile, int pixels)                           \
    {                                                                          \
        vec sums[12];                                                          \
        const float *w = tile->weights;                                        \
                                                                               \
        for (int p = 0; p < pixels; p++)                                       \
            sums[p] = load(tile->bias);                                        \
        for (int p = 0; tile->adds && p < pixels; p++)                         \
            sums[p] = add(sums[p], load(tile->y + p * (lanes_of)));            \
        for (int64_t c = tile->first; c < tile->end; c++) {                    \
            const float *x =                                                   \
                tile->x + c / (lanes_of)*tile->plane + c % (lanes_of);         \
            vec weight = load(w);                                              \
                                                                               \
            for (int p = 0; p < pixels; p++)                                   \
                sums[p] = fma(splat(x[p * (lanes_of)]), weight, sums[p]);      \
            w += (lanes_of);                                                   \
        }                                                                      \
        for (int p = 0; p < pixels; p++)                                       \
            store(tile->y + p * (lanes_of),                                    \
                  upper(splat(tile->high), lower(splat(tile->low), sums[p]))); \
    }                                                                          \
                                                                               \
    __attribute__((target(sets))) static void name##_pixels(                   \
        struct grouped_tile tile, int64_t n)                                   \
    {                                                                          \
        static const int sizes[] = {12, 4, 1};                                 \
                                                                               \
        for (int i = 0; i < 3; i++) {                                          \
            for (; n >= sizes[i]; n -= sizes[i]) {                             \
                if (i == 0)                                                    \
                    name(&tile, 12);                                           \
                else if (i == 1)                                               \
                    name(&tile, 4);                                            \
                else                                                           \
                    name(&tile, 1);                                            \
                tile.x += sizes[i] * (lanes_of);                               \
                tile.y += sizes[i] * (lanes_of);                               \
            }                                                                  \
        }                                                                      \
    }
GROUPED_TILE(grouped_avx512, "avx512f", __m512, 16, _mm512_loadu_ps,
             _mm512_storeu_ps, _mm512_set1_ps, _mm512_add_ps, _mm512_fmadd_ps,
             _mm512_max_ps, _mm512_min_ps)
GROUPED_TILE(grouped_avx2, "avx2,fma", __m256, 8, _mm256_loadu_ps,
             _mm256_storeu_ps, _mm256_set1_ps, _mm256_add_ps, _mm256_fmadd_ps,
             _mm256_max_ps, _mm256_min_ps)
#endif

/* Channels per block; 0: there is no kernel for this processor. */
static int64_t grouped_lanes(void)
{
#ifdef __x86_64__
    if (processor_level() >= PROCESSOR_AVX512)
        return 16;
    if (processor_level() >= PROCESSOR_AVX2)
        return 8;
#endif
    return 0;
}

static void grouped_run_pixels(int64_t width, const struct grouped_tile *tile,
                               int64_t n)
{
#ifdef __x86_64__
    if (width == 16)
        grouped_avx512_pixels(*tile, n);
    else
        grouped_avx2_pixels(*tile, n);
#else
    (void)width, (void)tile, (void)n;
#endif
}

/* ---- weights ------------------------------------------------------------- */

static struct grouped *grouped_plan(const struct job *job)
{
    int64_t groups = conv2d_attrs(job->node)->groups, width = grouped_lanes();
    int64_t in = job->weight->shape.dims[1];
    int64_t out = job->weight->shape.dims[0], each = out / groups;
    int64_t n = (out + width - 1) / width;
    struct grouped *plan =
        mem_zalloc(sizeof *plan + (size_t)n * sizeof *plan->blocks);
    size_t at = 0;

    if (!plan)
        return NULL;
    plan->width = width;
    plan->n_blocks = n;
    for (int64_t b = 0; b < n; b++) {
        int64_t last = (b + 1) * width < out ? (b + 1) * width - 1 : out - 1;
        struct grouped_block *block = &plan->blocks[b];

        block->first = b * width / each * in;
        block->end = (last / each + 1) * in;
        block->weights = at;
        at += (size_t)((block->end - block->first) * width);
    }
    return plan;
}

static size_t grouped_weight_bytes(const struct grouped *plan)
{
    const struct grouped_block *last = &plan->blocks[plan->n_blocks - 1];

    return (last->weights + (size_t)((last->end - last->first) * plan->width)) *
           sizeof(float);
}

void grouped_pack(const struct kernel *kernel, const float *weights,
                  float *packed)
{
    const struct grouped *plan = kernel->grouped;
    int64_t out = kernel->y.dims[1], in = kernel->weights->shape.dims[1];
    int64_t each = out / (kernel->x.dims[1] / in);

    memset(packed, 0, grouped_weight_bytes(plan));
    for (int64_t o = 0; o < out; o++) {
        const struct grouped_block *block = &plan->blocks[o / plan->width];
        float *to = packed + block->weights +
                    (o / each * in - block->first) * plan->width +
                    o % plan->width;

        for (int64_t c = 0; c < in; c++)
            to[c * plan->width] = weights[o * in + c];
    }
}

/* ---- the kernel ---------------------------------------------------------- */

bool grouped_takes(const struct onednn *dn, const struct job *job)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    const int64_t *w = job->weight->shape.dims;

    if (dn->options.is_plain || job->direction != DIRECTION_FORWARD ||
        job->is_training || job->node->op != &op_conv2d || w[1] < 4 ||
        !grouped_lanes() || attrs->groups == 1)
        return false;
    for (int i = 0; i < 2; i++) {
        if (w[2 + i] != 1 || attrs->stride[i] != 1 || attrs->before[i] ||
            attrs->after[i])
            return false;
    }
    return true;
}

static enum assay_status grouped_set_layouts(struct onednn *dn,
                                             const struct job *job,
                                             struct kernel *kernel,
                                             struct error *err)
{
    enum order order =
        grouped_lanes() == 16 ? ORDER_BLOCKS_OF_16 : ORDER_BLOCKS_OF_8;
    enum assay_status st;

    kernel->src = layout_ordered(dn, &job->x->shape, order);
    kernel->dst = layout_ordered(dn, &job->y, order);
    kernel->part_src = kernel->src;
    kernel->part_dst = kernel->dst;
    kernel->weights = layout_transformed(dn, &job->weight->shape, ORDER_GROUPED,
                                         grouped_weight_bytes(kernel->grouped));
    st = layout_check(kernel->src, err);
    if (!st)
        st = layout_check(kernel->dst, err);
    return st ? st : layout_check(kernel->weights, err);
}

enum assay_status grouped_make(struct onednn *dn, const struct job *job,
                               struct kernel **out, struct error *err)
{
    struct kernel *kernel = mem_zalloc(sizeof *kernel);
    enum assay_status st;

    *out = NULL;
    if (kernel)
        kernel->grouped = grouped_plan(job);
    if (!kernel || !kernel->grouped) {
        kernel_free(kernel);
        return error_nomem(err, sizeof *kernel, "a kernel");
    }
    kernel->x = job->x->shape;
    kernel->y = job->y;
    kernel->x_layout = job->x->layout;
    kernel->leaves_activation = job->activation != CONV2D_NO_ACTIVATION;
    kernel->how = "the only one";
    kernel->candidates.n = 1;
    kernel->candidates.items[0].ms = -1;
    snprintf(kernel->candidates.items[0].name,
             sizeof kernel->candidates.items[0].name, "direct assay_grouped:%s",
             grouped_lanes() == 16 ? "avx512" : "avx2");
    st = grouped_set_layouts(dn, job, kernel, err);
    if (st)
        kernel_free(kernel);
    else
        *out = kernel;
    return st;
}

/* The bias of a block, 0 behind the last channel. */
static void grouped_bias(const struct job *job, int64_t first, int64_t width,
                         float *bias)
{
    for (int64_t i = 0; i < width; i++)
        bias[i] = job->bias && first + i < job->y.dims[1]
                      ? tensor_f32(job->bias)[first + i]
                      : 0;
}

void grouped_run(const struct job *job, const struct kernel *kernel,
                 const struct operands *operands)
{
    enum { piece = 192, most_lanes = 16 }; /* pixels at a time */
    static const int64_t few_products = 1 << 18;
    const struct grouped *plan = kernel->grouped;
    int64_t width = plan->width, pixels = job->y.dims[2] * job->y.dims[3];
    int64_t in_blocks = (job->x->shape.dims[1] + width - 1) / width;
    int64_t n = job->y.dims[0] * plan->n_blocks;
    float low = job->has_relu ? 0 : -INFINITY;
    float high =
        job->has_relu && job->relu_limit > 0 ? job->relu_limit : INFINITY;

#pragma omp parallel for collapse(                                             \
    2) if (n * pixels * width * job->weight->shape.dims[1] > few_products)
    for (int64_t i = 0; i < n; i++) {
        for (int64_t p = 0; p < pixels; p += piece) {
            int64_t image = i / plan->n_blocks, b = i % plan->n_blocks;
            const struct grouped_block *block = &plan->blocks[b];
            float bias[most_lanes];

            grouped_bias(job, b * width, width, bias);
            grouped_run_pixels(
                width,
                &(struct grouped_tile){
                    .x = (const float *)operands->src +
                         (image * in_blocks * pixels + p) * width,
                    .plane = pixels * width,
                    .first = block->first,
                    .end = block->end,
                    .weights =
                        (const float *)operands->weights + block->weights,
                    .bias = bias,
                    .y = (float *)operands->dst + (i * pixels + p) * width,
                    .low = low,
                    .high = high,
                    .adds = job->residual != NULL},
                pixels - p < piece ? pixels - p : piece);
        }
    }
}
