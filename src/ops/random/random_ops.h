/* ops/random/random_ops.h - random numbers: RandomUniform, RandomNormal,
 * Bernoulli, Multinomial.
 *
 * Inputs: RandomUniform and RandomNormal: the shape, or with takes_shape a
 * tensor of that shape. Bernoulli: the probability of a 1 for each element.
 * Multinomial: the logarithm of the probability of each class [n,c].
 *
 * A seed gives the numbers of NumPy's RandomState, as ONNX's reference does.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_RANDOM_RANDOM_OPS_H
#define OPS_RANDOM_RANDOM_OPS_H

#include "graph/graph.h"

struct random_attrs {
    uint32_t seed;
    enum dtype dtype;
    bool has_dtype;    /* false: the input's */
    bool takes_shape;  /* the shape is the input's shape, not its data */
    double low, high;  /* RandomUniform; mean and deviation of RandomNormal */
    int64_t n_samples; /* Multinomial */
};

#endif
