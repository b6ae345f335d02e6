/* ops/convolution/conv_transpose2d.h - transposed convolution, an upsampling
 * layer.
 *
 * Inputs: x [n,c,h,w], weight [c,o,kh,kw], bias [o] or left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV_TRANSPOSE2D_H
#define OPS_CONVOLUTION_CONV_TRANSPOSE2D_H

#include "graph/graph.h"

enum conv_transpose2d_input {
    CONV_TRANSPOSE2D_X,
    CONV_TRANSPOSE2D_WEIGHT,
    CONV_TRANSPOSE2D_BIAS,
    CONV_TRANSPOSE2D_INPUTS
};

struct conv_transpose2d_attrs {
    int64_t stride[2];
    int64_t before[2], after[2]; /* rows and columns cut off y */
    int64_t more[2];             /* added after the last ones of y: fewer than
                                    the stride */
    bool has_relu;               /* fused: applied last */
};

const struct conv_transpose2d_attrs *
conv_transpose2d_attrs(const struct node *node);

#endif
