/* ops/random/random_ops.h - numbers that are drawn: RandomUniform,
 * RandomNormal, Bernoulli, Multinomial.
 *
 * Inputs: RandomUniform and RandomNormal: the shape, or with takes_shape a
 * tensor that has it. Bernoulli: how likely each is 1. Multinomial: the
 * logarithms of how likely each class is [n,c].
 *
 * A seed gives the same numbers every time: those of NumPy's RandomState,
 * which ONNX's own reference draws from.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_RANDOM_RANDOM_OPS_H
#define OPS_RANDOM_RANDOM_OPS_H

#include "graph/graph.h"

struct random_attrs {
    uint32_t seed;
    enum dtype dtype;
    bool has_dtype;    /* false: the input's */
    bool takes_shape;  /* of the input, not its values */
    double low, high;  /* of RandomUniform; mean and deviation of the other */
    int64_t n_samples; /* Multinomial */
};

#endif
