/* passes/fuse_dense.h - products with constant weights and what follows them.
 *
 * A MatMul by a constant matrix becomes a Dense. Then into that go, each only
 * if nothing else reads the value in between:
 *
 * - a Sum with a constant row, as its bias;
 * - a ReLU or a Gelu;
 * - an Add of another value, which comes last.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_FUSE_DENSE_H
#define PASSES_FUSE_DENSE_H

#include "graph/graph.h"

/* After fuse_graph(), for a graph that runs on the host. After a failure the
 * graph still computes the same, with some nodes fused. */
enum assay_status fuse_dense(struct graph *graph, struct error *err);

#endif
