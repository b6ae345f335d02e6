/* ops/convolution/conv2d.h - two-dimensional convolution, with ops that may be
 * fused into it.
 *
 * Inputs: x [n,c,h,w], weight [o,c/groups,kh,kw], bias [o] or left out,
 * residual (added before the activation) or left out. A ReLU6 is a ReLU with a
 * limit.
 * The pass that folds a norm appends a scale [o] that multiplies the weights of
 * each output channel; the weights themselves stay as in the checkpoint.
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
    CONV2D_SCALE = CONV2D_INPUTS /* nodes without one have fewer inputs */
};

/* Activations besides ReLUs that may be fused, for inference only: a backward
 * pass would need what they read. */
enum conv2d_activation {
    CONV2D_NO_ACTIVATION,
    CONV2D_SILU,
    CONV2D_SIGMOID,
    CONV2D_HARD_SWISH,
    CONV2D_MISH,
    CONV2D_LEAKY_RELU
};

struct conv2d_attrs {
    int64_t stride[2];           /* vertical, horizontal */
    int64_t dilation[2];         /* 1: dense */
    int64_t before[2], after[2]; /* zeros: top and left; bottom and right */
    int64_t groups;
    bool has_relu;                     /* fused: applied last */
    float relu_limit;                  /* the ReLU's upper limit; 0: none */
    enum conv2d_activation activation; /* fused, instead of a ReLU */
    float slope;                       /* of a LeakyReLU: below 0 */
};

/* Stride and dilation 1, no padding, one group. */
struct conv2d_attrs conv2d_defaults(void);
const struct conv2d_attrs *conv2d_attrs(const struct node *node);
/* The op that an activation is on its own; NULL for none. */
const struct op_class *conv2d_activation_op(enum conv2d_activation activation);
/* The activation that such an op becomes once it is fused. */
enum conv2d_activation conv2d_activation_of(const struct op_class *op);
/* The scale among a node's inputs; NULL if there is none. */
const struct tensor *conv2d_scale(const struct node *node,
                                  const struct tensor *const *inputs);

#endif
