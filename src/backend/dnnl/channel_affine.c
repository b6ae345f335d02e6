/* backend/dnnl/channel_affine.c - maps scaled and shifted channel by channel,
 * with what may follow: a sum with another map, a ReLU.
 *
 * One pass over memory, whatever follows: that is what it costs. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/variants.h"

#include <math.h>

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

/* Of 16 channels, by signs and sums: the compiler takes comparisons of whole
 * vectors apart. A NaN stays one. */
VARIANT_PART void clip_lanes(lanes *y, float high, bool has_limit)
{
    *y = (*y + (lanes)((lane_bits)*y & INT32_MAX)) * 0.5F; /* y + |y| */
    if (has_limit) {
        lane_bits is_over = (lane_bits)(high - *y) >> 31;
        lanes most = *y * 0 + high;

        *y = (lanes)(((lane_bits)*y & ~is_over) | ((lane_bits)most & is_over));
    }
}

VARIANT_PART void write_lanes(const struct affine_block *b, bool has_plus,
                              bool has_relu)
{
    const lanes scale = *(const lanes *)b->scale;
    const lanes shift = *(const lanes *)b->shift;
    const bool has_limit = isfinite(b->high);

    for (int64_t p = 0; p < b->plane; p++) {
        lanes y = *(const lanes *)(b->from + p * LANES) * scale + shift;

        if (has_plus)
            y += *(const lanes *)(b->plus + p * LANES);
        if (has_relu)
            clip_lanes(&y, b->high, has_limit);
        *(lanes *)(b->to + p * LANES) = y;
    }
}

VARIANT_PART void write_any(const struct affine_block *b, bool has_plus,
                            bool has_relu)
{
    if (b->block == LANES)
        write_lanes(b, has_plus, has_relu);
    else if (b->block == 1)
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

void affine_channels(const struct channel_blocks *blocks,
                     const struct channel_affine *by, const float *from,
                     float *to)
{
    int64_t n = blocks->images * blocks->n_blocks;
    int64_t size = blocks->plane * blocks->block;

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

        write_block(&block, by->has_relu);
    }
}
