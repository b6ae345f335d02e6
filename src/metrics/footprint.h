/* metrics/footprint.h - how much the values of a forward pass take, estimated
 * from the graph.
 *
 * The rule: the inputs, and what every module gives that holds parameters,
 * whether itself or in modules inside of it. So a convolution, a norm, a
 * residual block and the model itself count, each with its outputs; modules
 * without parameters (activations, poolings) are taken to work in place, and a
 * Sequential gives what its last module gave. An op that uses parameters
 * without a module of its own is one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_FOOTPRINT_H
#define METRICS_FOOTPRINT_H

#include "graph/survey.h"

struct footprint {
    uint64_t input_bytes, activation_bytes;
};

/* Values of unknown shape count nothing. */
enum assay_status footprint_estimate(const struct graph *graph,
                                     const struct survey *survey,
                                     struct footprint *out, struct error *err);

#endif
