/* passes/fuse.h - the optimising pass: fewer nodes, the same results.
 *
 * - a BatchNorm behind a Conv2d goes into its scale and bias;
 * - an Add goes into a Conv2d that feeds it, as its residual;
 * - a ReLU goes into the Conv2d, Linear or ConvTranspose2d before it, a Clip
 *   that begins at 0 into a Conv2d;
 * - a Mul of x and its Sigmoid becomes a SiLU;
 * - a Dropout goes;
 *
 * each only where nobody else reads what lies between. A fused node keeps the
 * scope and name of its convolution and lists the modules that it stands for
 * beside it (not those it lies in). Graphs inside of nodes are fused too.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_FUSE_H
#define PASSES_FUSE_H

#include "graph/graph.h"

/* The parameters must have their data. New biases come from the pool; the
 * data of parameters that nobody reads any more is given back. After a failure
 * the graph computes the same, with some nodes fused. */
enum assay_status fuse_graph(struct graph *graph, struct pool *pool,
                             struct error *err);

/* For a graph that is trained: an Add, and a ReLU or a Clip that begins at 0,
 * go into the BatchNormTraining before them, which then need not write what
 * lies between. Noted as above. */
enum assay_status fuse_training(struct graph *graph, struct error *err);

#endif
