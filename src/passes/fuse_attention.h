/* passes/fuse_attention.h - attention of several ops becomes one.
 *
 * MatMul, a Sum with a constant, Softmax along the last dimension, MatMul
 * become an Attention if nothing else reads the values in between. So does a
 * second Sum, with the masks of windows, between two Reshapes that put a
 * dimension of one in front and take it away again.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_FUSE_ATTENTION_H
#define PASSES_FUSE_ATTENTION_H

#include "graph/graph.h"

/* After fuse_dense(), for a graph that runs on the host. After a failure the
 * graph still computes the same, with some nodes fused. */
enum assay_status fuse_attention(struct graph *graph, struct error *err);

#endif
