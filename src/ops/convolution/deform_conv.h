/* ops/convolution/deform_conv.h - a convolution over pictures whose taps are
 * moved by offsets.
 *
 * Inputs: x [n,c,h,w], weight [o,c/groups,kh,kw], offsets [n,
 * offset_groups*kh*kw*2,oh,ow] (y, then x, of each tap), bias [o] or left out,
 * mask [n,offset_groups*kh*kw,oh,ow] or left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_DEFORM_CONV_H
#define OPS_CONVOLUTION_DEFORM_CONV_H

#include "ops/convolution/window.h"

struct deform_conv_attrs {
    struct window window; /* of rank 2 */
    int64_t groups, offset_groups;
};

#endif
