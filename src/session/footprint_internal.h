/* session/footprint_internal.h - how much memory the values of a forward pass
 * take, estimated from the graph.
 *
 * The rule: count the inputs, and the outputs of every module that holds
 * parameters, itself or in modules inside it. So a convolution, a norm, a
 * residual block and the model itself count, each with its outputs; modules
 * without parameters (activations, poolings) are taken to work in place, and a
 * Sequential outputs what its last module did. An op that uses parameters
 * without a module of its own counts as one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_FOOTPRINT_INTERNAL_H
#define SESSION_FOOTPRINT_INTERNAL_H

#include "graph/survey.h"

struct footprint {
    uint64_t input_bytes, activation_bytes;
};

/* Values of unknown shape count as 0. */
enum assay_status footprint_estimate(const struct graph *graph,
                                     const struct survey *survey,
                                     struct footprint *out, struct error *err);

#endif
