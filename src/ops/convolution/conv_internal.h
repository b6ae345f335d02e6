/* ops/convolution/conv_internal.h - what convolutions share: checks, costs,
 * rules for channels, and the sums of their gradients.
 *
 * All have the inputs x, weight and bias in that order. Weights are [o,
 * c / groups, ...], those of transposed convolutions [c, o / groups, ...].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV_INTERNAL_H
#define OPS_CONVOLUTION_CONV_INTERNAL_H

#include "ops/channels.h"
#include "ops/convolution/window.h"

enum conv_input { CONV_X, CONV_WEIGHT, CONV_BIAS };

/* Checks that x and weight have the same rank and that their channels fit. */
enum assay_status conv_check(const struct shape *x, const struct shape *weight,
                             int64_t groups, bool is_transposed,
                             struct error *err);

/* cost() of their classes. */
void conv_cost(const struct node *node, const struct tensor *const *inputs,
               const struct tensor *outputs, struct cost *cost);
void conv_transpose_cost(const struct node *node,
                         const struct tensor *const *inputs,
                         const struct tensor *outputs, struct cost *cost);

/* residual: the input that is added to y and has its channels; SIZE_MAX: there
 * is none. */
void conv_channels(struct channels *channels, const struct node *node,
                   int64_t groups, size_t residual);
void conv_transpose_channels(struct channels *channels, const struct node *node,
                             int64_t groups);

/* A window that moves over the planes of the large side; its positions are the
 * elements of the small side. A convolution makes small from large, a
 * transposed one large from small. */
struct conv_sides {
    struct fitted_window window; /* in: the large side, out: the small one */
    int64_t images, groups;
    int64_t small_channels, large_channels; /* of all groups */
};

/* The sides of a two-dimensional convolution. */
struct conv_sides conv_sides_2d(const struct shape *large,
                                const struct shape *small,
                                const struct shape *weight, int64_t groups,
                                const int64_t stride[2],
                                const int64_t dilation[2],
                                const int64_t before[2]);

/* The gradients of x and weight, if they are wanted. */
void conv_backward(const struct op_context *context,
                   const struct conv_sides *sides,
                   const struct op_backward *pass, const struct tensor *dy,
                   bool is_transposed);

#endif
