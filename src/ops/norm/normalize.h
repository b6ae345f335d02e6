/* ops/norm/normalize.h - norms with statistics of the data itself.
 *
 * InstanceNorm: x [n,c,...], scale [c], bias [c]; each plane by itself.
 * LayerNorm: x, scale, bias (left out: 0), of the dimensions from an axis on;
 *   makes y, and where asked for the means and 1 / deviations.
 * BatchNormTraining: the inputs of BatchNorm and, where fusing found one, a
 *   residual of y's shape; makes y and, where asked for, the new running mean
 *   and variance. The residual is added to y, then a ReLU may follow. Leaves
 *   for a backward pass [3,c]: means, 1 / deviations, variances of the batch.
 * LocalResponseNorm: x [n,c,...]; each by the squares of neighbouring
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
    float momentum;   /* BatchNormTraining: the share of the old statistics; 1
                         less PyTorch's */
    bool is_unbiased; /* BatchNormTraining: the running variance is that of the
                         population, as PyTorch estimates it */
    bool has_relu;    /* BatchNormTraining: y below 0 becomes 0 */
    float relu_limit; /* and above it, the limit; 0: none */
};

/* A node that the residual is left out of has fewer inputs. */
static inline bool norm_has_residual(const struct node *node)
{
    return node->n_inputs > BATCH_NORM_RESIDUAL;
}

/* Whether a gradient passes the ReLU of a norm that made this, or would have
 * without it. */
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
