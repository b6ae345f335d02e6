/* ops/norm/normalize.h - norms that take their statistics from the data.
 *
 * InstanceNorm: x [n,c,...], scale [c], bias [c]; normalises each plane.
 * LayerNorm: x, scale, bias (left out: 0); normalises the dimensions from an
 *   axis on. Makes y and optionally the means and 1 / deviations.
 * BatchNormTraining: the inputs of BatchNorm and, after fusing, optionally a
 *   residual of y's shape, which is added to y; then a ReLU may follow. Makes y
 *   and optionally the new running mean and variance. Saves for the backward
 *   pass [3,c]: means, 1 / deviations and variances of the batch.
 * LocalResponseNorm: x [n,c,...]; divides by the squares of neighbouring
 *   channels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORM_NORMALIZE_H
#define OPS_NORM_NORMALIZE_H

#include "graph/graph.h"
#include "ops/norm/batch_norm.h"

struct normalize_attrs {
    float eps;
    int64_t axis;     /* LayerNorm */
    float momentum;   /* BatchNormTraining: the weight of the old statistics, 1
                         minus PyTorch's */
    bool is_unbiased; /* BatchNormTraining: the running variance is unbiased,
                         as in PyTorch */
    bool has_relu;    /* BatchNormTraining: y below 0 becomes 0 */
    float relu_limit; /* y above it becomes the limit; 0: none */
};

static inline bool norm_has_residual(const struct node *node)
{
    return node->n_inputs > BATCH_NORM_RESIDUAL;
}

/* Whether a gradient passes the ReLU at y, before or after the ReLU. */
static inline bool norm_passes(const struct normalize_attrs *attrs, float y)
{
    return !attrs->has_relu ||
           (y > 0 && (attrs->relu_limit == 0 || y < attrs->relu_limit));
}

/* y = x / (bias + alpha / size * sum of squares)^beta */
struct local_response_norm_attrs {
    int64_t size;
    float alpha, beta, bias;
};

extern const struct attr_field normalize_fields[];

#endif
