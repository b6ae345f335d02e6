/* ops/norm/normalize_backward_internal.h - the gradients of InstanceNorm,
 * LayerNorm and LocalResponseNorm, for their classes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORM_NORMALIZE_BACKWARD_INTERNAL_H
#define OPS_NORM_NORMALIZE_BACKWARD_INTERNAL_H

#include "graph/graph.h"

/* Mean and variance of n values. Two passes: a mean far from 0 would spoil the
 * variance otherwise. */
void normalize_moments(const float *x, size_t n, double *mean,
                       double *variance);

#define NORM_BACKWARD(symbol)                                                  \
    enum assay_status symbol##_backward(                                       \
        const struct op_context *context, const struct node *node,             \
        const struct op_backward *pass, struct error *err);                    \
    struct op_reads symbol##_backward_reads(const struct node *node,           \
                                            uint64_t wanted);
NORM_BACKWARD(instance_norm)
NORM_BACKWARD(layer_norm)
NORM_BACKWARD(local_response_norm)
#undef NORM_BACKWARD

#endif
