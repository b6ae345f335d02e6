/* ops/convolution/conv2d.h - two-dimensional convolution, with what may be
 * fused into it.
 *
 * Inputs: x [n,c,h,w], weight [o,c/groups,kh,kw], bias [o] or left out,
 * residual (added before the ReLU) or left out. A ReLU6 is a ReLU with a limit.
 * The pass that folds a norm appends a scale [o], which the weights of each
 * output channel are multiplied by: the weights themselves stay as the
 * checkpoint has them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONVOLUTION_CONV2D_H
#define OPS_CONVOLUTION_CONV2D_H

#include "graph/graph.h"

enum conv2d_input {
    CONV2D_X,
    CONV2D_WEIGHT,
    CONV2D_BIAS,
    CONV2D_RESIDUAL,
    CONV2D_INPUTS,
    CONV2D_SCALE = CONV2D_INPUTS /* may be missing altogether */
};

struct conv2d_attrs {
    int64_t stride[2];           /* down, across */
    int64_t dilation[2];         /* 1: dense */
    int64_t before[2], after[2]; /* zeros around: top and left, the others */
    int64_t groups;
    bool has_relu;    /* fused: applied last */
    float relu_limit; /* of the ReLU: what it cuts at; 0: nowhere */
};

/* Stride and dilation 1, no padding, one group. */
struct conv2d_attrs conv2d_defaults(void);
const struct conv2d_attrs *conv2d_attrs(const struct node *node);
/* The scale among a node's inputs, or NULL. */
const struct tensor *conv2d_scale(const struct node *node,
                                  const struct tensor *const *inputs);

#endif
