/* ops/convolution/conv_nd.h - general convolutions: in 1 to 3 dimensions, with
 * padding that may depend on the size of x. Conv2d does the common ones faster.
 *
 * Inputs: x [n,c,...], weight [o,c/groups,...] (transposed: [c,o/groups,...]),
 * bias [o] or left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV_ND_H
#define OPS_CONVOLUTION_CONV_ND_H

#include "ops/convolution/window.h"

struct conv_nd_attrs {
    struct window window; /* the kernel's size is the weight's */
    int64_t groups;
};

/* The window moves over y; padding crops y. */
struct conv_transpose_nd_attrs {
    struct window window;
    int64_t groups;
    int64_t more[WINDOW_MAX_RANK]; /* added at the end of each side of y */
    bool has_shape;                /* the sizes of y are given, not the pads */
    int64_t shape[WINDOW_MAX_RANK];
};

#endif
