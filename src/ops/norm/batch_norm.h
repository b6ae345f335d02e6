/* ops/norm/batch_norm.h - normalises channels with given statistics.
 *
 * Inputs: x [n,c,...], weight, bias, running mean, running variance, all [c].
 * y = (x - mean) / sqrt(variance + eps) * weight + bias, then a ReLU may follow
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORM_BATCH_NORM_H
#define OPS_NORM_BATCH_NORM_H

#include "graph/graph.h"

enum batch_norm_input {
    BATCH_NORM_X,
    BATCH_NORM_WEIGHT,
    BATCH_NORM_BIAS,
    BATCH_NORM_MEAN,
    BATCH_NORM_VARIANCE,
    BATCH_NORM_INPUTS,
    /* Only BatchNormTraining has one: see normalize.h. */
    BATCH_NORM_RESIDUAL = BATCH_NORM_INPUTS
};

struct batch_norm_attrs {
    float eps;
    float momentum; /* in training: the weight of a batch in the running
                       statistics; 0: a tenth, as in PyTorch */
    bool has_relu;  /* fused: applied last */
};

const struct batch_norm_attrs *batch_norm_attrs(const struct node *node);

/* Scale and shift of a channel: y = x * scale + shift. */
void batch_norm_affine(const struct node *node,
                       const struct tensor *const *inputs, int64_t channel,
                       float *scale, float *shift);

#endif
