/* ops/normalize.h - norms with statistics of the data itself.
 *
 * InstanceNorm: x [n,c,...], scale [c], bias [c]; each plane by itself.
 * LayerNorm: x, scale, bias (left out: 0), of the dimensions from an axis on;
 *   makes y, and where asked for the means and 1 / deviations.
 * BatchNormTraining: the inputs of BatchNorm; makes y and, where asked for,
 *   the new running mean and variance. Leaves for a backward pass [3,c]: means,
 *   1 / deviations, variances of the batch.
 * LocalResponseNorm: x [n,c,...]; each by the squares of neighbouring
 *   channels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORMALIZE_H
#define OPS_NORMALIZE_H

#include "graph/graph.h"

struct normalize_attrs {
    float eps;
    int64_t axis;     /* LayerNorm */
    float momentum;   /* BatchNormTraining: the share of the old statistics; 1
                         less PyTorch's */
    bool is_unbiased; /* BatchNormTraining: the running variance is that of the
                         population, as PyTorch estimates it */
};

/* y = x / (bias + alpha / size * sum of squares)^beta */
struct local_response_norm_attrs {
    int64_t size;
    float alpha, beta, bias;
};

#endif
