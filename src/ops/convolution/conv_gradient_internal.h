/* ops/convolution/conv_gradient_internal.h - the three sums behind every
 * convolution's gradients, in plain code.
 *
 * A window moves over the planes of a large side; its positions are the
 * elements of a small side. A convolution makes small from large, a transposed
 * one large from small; both have weights [small channels, large channels of a
 * group, kernel].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV_GRADIENT_INTERNAL_H
#define OPS_CONVOLUTION_CONV_GRADIENT_INTERNAL_H

#include "ops/convolution/window.h"

struct conv_sides {
    struct fitted_window window; /* in: the large side, out: the small one */
    int64_t images, groups;
    int64_t small_channels, large_channels; /* of all groups */
};

/* Sides of two-dimensional ones, from the shapes of x or y. */
struct conv_sides conv_sides_2d(const struct shape *large,
                                const struct shape *small,
                                const struct shape *weight, int64_t groups,
                                const int64_t stride[2],
                                const int64_t dilation[2],
                                const int64_t before[2]);

/* large += what small is spread to. */
void conv_to_large(const struct op_context *context,
                   const struct conv_sides *sides, const float *weight,
                   const float *small, float *large);
/* small += what is collected from large. */
void conv_to_small(const struct op_context *context,
                   const struct conv_sides *sides, const float *weight,
                   const float *large, float *small);
/* weight = sums of small times large under each place of the kernel. */
void conv_to_weight(const struct op_context *context,
                    const struct conv_sides *sides, const float *small,
                    const float *large, float *weight);

#endif
