/* backend/dnnl/elementwise.c - ReLU and other activations, Clip, Sigmoid, Add,
 * Mul, BatchNorm and ResizeNearest, on the layouts that convolutions leave.
 *
 * Written here because they only move memory: they work in place where the
 * input is not needed afterwards. Padding after the last channel stays 0. */
#include "backend/dnnl/channel_affine.h"

#include "backend/dnnl/concat_places.h"
#include "base/variants.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "ops/movement/resize_nearest.h"
#include "ops/norm/batch_norm.h"

#include <math.h>
#include <string.h>

enum assay_status reuse_or_make(struct onednn *dn, const struct job *job,
                                const struct tensor *x, size_t input,
                                struct tensor *y, struct error *err)
{
    if (op_input_dies(job->context, input) &&
        buffer_references(x->buffer) == 1) {
        *y = tensor_share(x);
        return ASSAY_OK;
    }
    return layout_tensor(job->context->pool, layout_of(dn, x), &x->shape, y,
                         err);
}

/* Elements that a thread gets at a time: whole lines of the cache. */
enum { run_elements = 1 << 12 };

static size_t run_length(size_t n, size_t first)
{
    return n - first < run_elements ? n - first : run_elements;
}

VARIANTS(void, clip_run,
         (const float *from, float low, float high, float *to, size_t n),
         (from, low, high, to, n))
{
    for (size_t i = 0; i < n; i++) {
        float value = from[i] < low ? low : from[i];

        to[i] = value > high ? high : value;
    }
}

static enum assay_status clip(struct onednn *dn, const struct job *job,
                              float low, float high, struct tensor *y,
                              struct error *err)
{
    enum assay_status st = reuse_or_make(dn, job, job->x, 0, y, err);
    size_t n = layout_elements(job->x);
    const float *from = tensor_f32(job->x);
    float *to;

    if (st)
        return st;
    to = tensor_f32(y);
#pragma omp parallel for if (n > parallel_elements)
    for (size_t i = 0; i < n; i += run_elements)
        clip_run(from + i, low, high, to + i, run_length(n, i));
    return ASSAY_OK;
}

enum assay_status forward_relu(struct onednn *dn, struct job *job,
                               const struct tensor *const *inputs,
                               struct tensor *y, struct error *err)
{
    (void)inputs;
    return clip(dn, job, 0, INFINITY, y, err);
}

enum assay_status forward_clip(struct onednn *dn, struct job *job,
                               const struct tensor *const *inputs,
                               struct tensor *y, struct error *err)
{
    const struct clip_attrs *attrs = clip_attrs(job->node);

    /* The padding would not stay 0. */
    if (job->x->layout && (attrs->low > 0 || attrs->high < 0))
        return own_kernel(dn, job, inputs, y, err);
    return clip(dn, job, attrs->low, attrs->high, y, err);
}

/* Functions of one element that leave 0 alone, and so the padding. */
enum assay_status forward_activation(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    enum assay_status st = reuse_or_make(dn, job, job->x, 0, y, err);

    (void)inputs;
    if (!st)
        unary_run_f32(job->context, job->node, tensor_f32(job->x),
                      tensor_f32(y), layout_elements(job->x));
    return st;
}

/* oneDNN has plain code alone for it without AVX-512, on most layouts. */
enum assay_status forward_sigmoid(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *y, struct error *err)
{
    enum assay_status st = forward_activation(dn, job, inputs, y, err);

    if (!st)
        clear_last_lanes(y);
    return st;
}

VARIANTS(void, combine_run,
         (const float *a, const float *b, float *to, size_t n, bool is_product),
         (a, b, to, n, is_product))
{
    if (is_product) {
        for (size_t i = 0; i < n; i++)
            to[i] = a[i] * b[i];
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = a[i] + b[i];
    }
}

static void elementwise_combine(const float *a, const float *b, float *to,
                                size_t n, bool is_product)
{
#pragma omp parallel for if (n > parallel_elements)
    for (size_t i = 0; i < n; i += run_elements)
        combine_run(a + i, b + i, to + i, run_length(n, i), is_product);
}

static enum assay_status combine_inputs(struct onednn *dn,
                                        const struct job *job,
                                        const struct tensor *const *inputs,
                                        bool is_product, struct tensor *y,
                                        struct error *err)
{
    /* Into the layout of a blocked one, where only one is. */
    size_t first = inputs[0]->layout ? 0 : 1;
    const struct tensor *a = inputs[first];
    struct tensor b;
    enum assay_status st = layout_convert(
        dn, job->context->pool, inputs[1 - first], layout_of(dn, a), &b, err);

    if (st)
        return st;
    st = reuse_or_make(dn, job, a, first, y, err);
    if (!st && layout_of(dn, a)->dtype == DTYPE_BF16)
        bf16_add(tensor_data(a), tensor_data(&b), tensor_data(y),
                 layout_elements(a));
    else if (!st)
        elementwise_combine(tensor_f32(a), tensor_f32(&b), tensor_f32(y),
                            layout_elements(a), is_product);
    tensor_release(&b);
    return st;
}

enum assay_status forward_add(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *y, struct error *err)
{
    return combine_inputs(dn, job, inputs, false, y, err);
}

enum assay_status forward_sum(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *y, struct error *err)
{
    if (job->node->n_inputs == 2 &&
        shape_equal(&inputs[0]->shape, &inputs[1]->shape))
        return combine_inputs(dn, job, inputs, false, y, err);
    return own_kernel(dn, job, inputs, y, err);
}

/* Whether b has a number for each channel of each image of a. */
static bool scales_channels(const struct tensor *a, const struct tensor *b)
{
    const int64_t *x = a->shape.dims, *scale = b->shape.dims;

    return a->shape.rank == 4 && b->shape.rank == 4 && a->layout &&
           x[0] == scale[0] && x[1] == scale[1] && scale[2] == 1 &&
           scale[3] == 1;
}

/* As many pixels of a block as fill the lanes. */
VARIANT_PART int64_t repeat_lanes(const float *by, int64_t block, lanes *out)
{
    int64_t n = LANES % block == 0 ? LANES / block : 0;

    for (int64_t c = 0; c < n * block; c++)
        (*out)[c] = by[c % block];
    return n;
}

/* Scales blocks of 8, one pixel at a time. With 8 numbers per register GCC
 * would pass longer vectors through memory. */
VARIANT_PART void scale_short_blocks(const float *from, const float *by,
                                     float *to, int64_t plane)
{
    enum { block = 8 };
    typedef float short_lanes
        __attribute__((vector_size(block * sizeof(float)), aligned(4)));
    short_lanes scale = *(const short_lanes *)by;

    for (int64_t i = 0; i < plane * block; i += block)
        *(short_lanes *)(to + i) = *(const short_lanes *)(from + i) * scale;
}

/* A plane of a block's channels by their scales. */
VARIANTS(void, scale_plane,
         (const float *from, const float *by, float *to, int64_t plane,
          int64_t block),
         (from, by, to, plane, block))
{
    lanes scale = {0};
    int64_t at_once, p = 0;

    if (block == 8) {
        scale_short_blocks(from, by, to, plane);
        return;
    }
    at_once = repeat_lanes(by, block, &scale);
    for (; at_once && p + at_once <= plane; p += at_once)
        *(lanes *)(to + p * block) = *(const lanes *)(from + p * block) * scale;
    for (; p < plane; p++) {
        for (int64_t c = 0; c < block; c++)
            to[p * block + c] = from[p * block + c] * by[c];
    }
}

/* x by a scale of [n,c,1,1], brought into blocks of the same channels. */
static enum assay_status multiply_channels(struct onednn *dn,
                                           const struct job *job,
                                           const struct channel_blocks *blocks,
                                           const struct tensor *x, size_t input,
                                           const struct tensor *scale,
                                           struct tensor *y, struct error *err)
{
    int64_t n = blocks->images * blocks->n_blocks;
    int64_t size = blocks->plane * blocks->block;
    struct tensor own = {0};
    const float *from = tensor_f32(x), *by;
    float *to;
    enum assay_status st = layout_convert(
        dn, job->context->pool, scale,
        layout_ordered(dn, &scale->shape, blocks->order), &own, err);

    if (!st)
        st = reuse_or_make(dn, job, x, input, y, err);
    if (!st) {
        to = tensor_f32(y);
        by = tensor_f32(&own);
#pragma omp parallel for if (n * size > parallel_elements)
        for (int64_t i = 0; i < n; i++)
            scale_plane(from + i * size, by + i * blocks->block, to + i * size,
                        blocks->plane, blocks->block);
    }
    tensor_release(&own);
    return st;
}

enum assay_status forward_mul(struct onednn *dn, struct job *job,
                              const struct tensor *const *inputs,
                              struct tensor *y, struct error *err)
{
    struct channel_blocks blocks;

    if (shape_equal(&inputs[0]->shape, &inputs[1]->shape))
        return combine_inputs(dn, job, inputs, true, y, err);
    for (size_t i = 0; i < 2; i++) {
        if (scales_channels(inputs[i], inputs[1 - i]) &&
            layout_blocks(inputs[i], &blocks))
            return multiply_channels(dn, job, &blocks, inputs[i], i,
                                     inputs[1 - i], y, err);
    }
    return own_kernel(dn, job, inputs, y, err);
}

/* Scale and shift of each channel, 0 after the last one. */
static enum assay_status
elementwise_make_affine(const struct job *job,
                        const struct tensor *const *inputs, int64_t padded,
                        struct tensor *out, struct error *err)
{
    struct shape shape = shape_of(2, (int64_t)2, padded);
    enum assay_status st =
        tensor_new(job->context->pool, DTYPE_F32, &shape, out, err);
    float *scale;

    if (st)
        return st;
    scale = tensor_f32(out);
    memset(scale, 0, tensor_bytes(out));
    for (int64_t c = 0; c < job->x->shape.dims[1]; c++)
        batch_norm_affine(job->node, inputs, c, &scale[c], &scale[padded + c]);
    return ASSAY_OK;
}

/* Not a map: a channel is all that the dimensions after the second have. */
static void plain_blocks(const struct shape *shape,
                         struct channel_blocks *blocks)
{
    *blocks = (struct channel_blocks){.images = shape->dims[0],
                                      .n_blocks = shape->dims[1],
                                      .plane = 1,
                                      .block = 1};
    for (int i = 2; i < shape->rank; i++)
        blocks->plane *= shape->dims[i];
}

enum assay_status get_blocked(struct onednn *dn, const struct job *job,
                              struct tensor *own, const struct tensor **x,
                              struct channel_blocks *blocks, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *own = (struct tensor){0};
    *x = job->x;
    if (job->x->shape.rank != 4 && !job->x->layout) {
        plain_blocks(&job->x->shape, blocks);
    } else if (!layout_blocks(*x, blocks)) {
        st = layout_convert(dn, job->context->pool, job->x,
                            layout_dense(dn, &job->x->shape), own, err);
        *x = own;
        if (!st && !layout_blocks(own, blocks))
            st = error_set(err, ASSAY_UNSUPPORTED, "a map has no channels");
    }
    return st;
}

enum assay_status forward_batch_norm(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    struct tensor own, affine = {0};
    const struct tensor *x;
    struct channel_blocks blocks;
    enum assay_status st;

    if (pending_leave(dn, job, inputs, y))
        return ASSAY_OK;
    st = get_blocked(dn, job, &own, &x, &blocks, err);
    if (!st)
        st = elementwise_make_affine(
            job, inputs, blocks.n_blocks * blocks.block, &affine, err);
    if (!st)
        st = reuse_or_make(dn, job, x, 0, y, err);
    if (!st)
        affine_channels(&blocks,
                        &(struct channel_affine){
                            .scale = tensor_f32(&affine),
                            .shift = tensor_f32(&affine) + affine.shape.dims[1],
                            .has_relu = batch_norm_attrs(job->node)->has_relu,
                            .high = INFINITY},
                        tensor_f32(x), tensor_f32(y));
    tensor_release(&affine);
    tensor_release(&own);
    return st;
}

/* pixel: bytes of one. */
static void stretch_row(const char *from, int64_t from_width, char *to,
                        int64_t to_width, int64_t pixel)
{
    for (int64_t j = 0; j < to_width; j++) {
        const char *source =
            from + resize_nearest_source(j, from_width, to_width) * pixel;

        if (pixel == sizeof(float))
            memcpy(to + j * pixel, source, sizeof(float));
        else
            memcpy(to + j * pixel, source, (size_t)pixel);
    }
}

static void stretch(const struct channel_blocks *blocks, enum dtype stored,
                    const struct tensor *x, const struct tensor *y)
{
    const int64_t *from = x->shape.dims, *to = y->shape.dims;
    int64_t block = blocks->block * (int64_t)dtype_bytes(stored);
    int64_t n = blocks->images * blocks->n_blocks;
    const char *read = tensor_data(x);
    char *write = tensor_data(y);

#pragma omp parallel for collapse(2) if (n * to[2] * to[3] * blocks->block >   \
                                         parallel_elements)
    for (int64_t i = 0; i < n; i++) {
        for (int64_t row = 0; row < to[2]; row++) {
            int64_t source = resize_nearest_source(row, from[2], to[2]);

            stretch_row(read + (i * from[2] + source) * from[3] * block,
                        from[3], write + (i * to[2] + row) * to[3] * block,
                        to[3], block);
        }
    }
}

enum assay_status forward_resize_nearest(struct onednn *dn, struct job *job,
                                         const struct tensor *const *inputs,
                                         struct tensor *y, struct error *err)
{
    const struct tensor *x;
    struct channel_blocks blocks;
    enum dtype stored = DTYPE_F32;
    struct tensor own;
    enum assay_status st = get_blocked(dn, job, &own, &x, &blocks, err);

    (void)inputs;
    if (!st) {
        stored = layout_of(dn, x)->dtype;
        st = places_tensor(
            dn, job, layout_typed(dn, stored, &job->y, blocks.order), y, err);
    }
    if (!st)
        stretch(&blocks, stored, x, y);
    tensor_release(&own);
    return st;
}
