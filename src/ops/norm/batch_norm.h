/* ops/norm/batch_norm.h - normalising channels with statistics that are given.
 *
 * Inputs: x [n,c,...], weight, bias, running mean, running variance, all [c].
 * y = (x - mean) / sqrt(variance + eps) * weight + bias
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
    /* Of BatchNormTraining, where fusing found one: see normalize.h. */
    BATCH_NORM_RESIDUAL = BATCH_NORM_INPUTS
};

struct batch_norm_attrs {
    float eps;
    float momentum; /* the share of a batch in the running statistics, in
                       training; 0: a tenth, as in PyTorch */
};

const struct batch_norm_attrs *batch_norm_attrs(const struct node *node);

/* y = x * scale + shift for a channel: what it comes down to. */
void batch_norm_affine(const struct node *node,
                       const struct tensor *const *inputs, int64_t channel,
                       float *scale, float *shift);

#endif
