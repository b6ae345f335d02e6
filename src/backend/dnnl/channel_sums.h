/* backend/dnnl/channel_sums.h - sums over the channels of a batch, as norms
 * need them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_DNNL_CHANNEL_SUMS_H
#define BACKEND_DNNL_CHANNEL_SUMS_H

#include "backend/dnnl/dnnl_internal.h"
#include "base/variants.h"

struct batch {
    struct channel_blocks blocks;
    const float *x;
    const float *dy;   /* a gradient in the same layout; NULL: there is none */
    const float *mean; /* with dy: of x, a channel each */
    /* With dy, where it has to pass a ReLU first: that of x * scale + shift,
     * cut off at high. NULL: there is none. */
    const float *scale, *shift;
    float high;
    /* The same told by what came out of the ReLU, in the layout of x; what
     * passes is written to `passed` then, which may be dy. NULL: it is not. */
    const float *y;
    float *passed;
};

/* Channels with those that fill up the last block. */
static inline int64_t batch_channels(const struct batch *batch)
{
    return batch->blocks.n_blocks * batch->blocks.block;
}

static inline double batch_pixels(const struct batch *batch)
{
    return (double)batch->blocks.images * (double)batch->blocks.plane;
}

/* Whether the gradient at x passes the ReLU. */
VARIANT_PART bool batch_passes(const struct batch *batch, int64_t channel,
                               float x)
{
    float y = x * batch->scale[channel] + batch->shift[channel];

    return y > 0 && y < batch->high;
}

/* A ReLU's numbers for 16 channels. */
struct relu_lanes {
    lanes scale, shift;
    float high;
};

VARIANT_PART struct relu_lanes relu_lanes(const struct batch *batch,
                                          int64_t channel)
{
    return (struct relu_lanes){
        .scale = *(const lanes *)(batch->scale + channel),
        .shift = *(const lanes *)(batch->shift + channel),
        .high = batch->high,
    };
}

/* Leaves of a gradient what passes. By signs: the compiler takes comparisons
 * of whole vectors apart. Both differences are below 0 where it passes. */
VARIANT_PART void relu_pass(const struct relu_lanes *relu, const lanes *x,
                            lanes *slope)
{
    lanes y = *x * relu->scale + relu->shift;
    lane_bits passes = ((lane_bits)(0 - y) & (lane_bits)(y - relu->high)) >> 31;

    *slope = (lanes)((lane_bits)*slope & passes);
}

/* Two sums of every channel into out[2 * channels]. Without dy: the means of
 * x, then the squares of x around them. With dy: its sums, then those of its
 * products with x around the mean. The same whatever the number of threads. */
enum assay_status batch_sums(const struct op_context *context,
                             const struct batch *batch, float *out,
                             struct error *err);

#endif
