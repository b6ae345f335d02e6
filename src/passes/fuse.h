/* passes/fuse.h - the optimising pass: fewer nodes, the same results.
 *
 * - a BatchNorm after a Conv2d goes into its scale and bias;
 * - so does a Mul by, or an addition of, one constant per channel or for all;
 *   these also go into a BatchNorm that stays;
 * - an Add goes into a Conv2d that feeds it, as its residual;
 * - a ReLU goes into the Conv2d, Linear, ConvTranspose2d or BatchNorm before
 * it, a Clip that begins at 0 into a Conv2d;
 * - a Mul of x and its Sigmoid becomes a SiLU, one of x and its HardSigmoid
 *   with the slope 1/6 a HardSwish;
 * - a HardSwish, HardSigmoid or Gelu (of erf) that is written as several ops
 *   becomes one;
 * - a SiLU, Sigmoid, HardSwish, Mish or LeakyReLU goes into a Conv2d;
 * - the Slices and the Concat of a Focus (every second row and column, joined)
 *   go into the Conv2d after them;
 * - a Dropout is removed;
 *
 * each only if nothing else reads the value in between. A fused node keeps the
 * scope and name of its convolution and lists the other modules that it stands
 * for (not those around it). Graphs inside nodes are fused too.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H

#include "graph/graph.h"

/* The parameters must have their data. New biases come from the pool; data that
 * nothing reads any more is freed. After a failure the graph still computes the
 * same, with some nodes fused. */
enum assay_status fuse_graph(struct graph *graph, struct pool *pool,
                             struct error *err);

/* For a graph in training: an Add, and a ReLU or a Clip that begins at 0, go
 * into the BatchNormTraining before them, which saves writing the values in
 * between. Fused nodes list their modules as above. */
enum assay_status fuse_training(struct graph *graph, struct error *err);

#endif
