/* passes/integers.h - quantised models on integers.
 *
 * Exporters write a quantised layer as DequantizeLinear, the float op and
 * QuantizeLinear. This pass makes one integer node of the three, so that what
 * lies between layers stays 8 bits wide:
 *
 * - Conv2d and Linear, with an activation that was fused into them, become
 *   QLinearConv and QLinearMatMul, without a QuantizeLinear after them with
 *   float32 results;
 * - Add and Mul become QLinearAdd and QLinearMul;
 * - an activation, and a Mul of a value and an activation of it, become a
 *   Lookup;
 * - ops that only move numbers (Concat, Split, MaxPool2d, Resize to the
 *   nearest, ...) move the integers; a Lookup goes from one scale to another;
 * - ConvInteger and MatMulInteger with the Cast, the Mul by both scales, the
 *   Add of a bias and the activation that follow become QLinearConv and
 *   QLinearMatMul with float32 results.
 *
 * Scales and zeros must be constant, and of activations single numbers; other
 * nodes stay as they are. Results differ by at most one step of the output's
 * scale, where a sum lies next to the middle of two.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_INTEGERS_H
#define PASSES_INTEGERS_H

#include "graph/graph.h"

/* After fuse_graph(), for a graph that runs on the host. New constants come
 * from the pool; data that nothing reads any more is freed. After a failure the
 * graph can only be freed. */
enum assay_status integers_fuse(struct graph *graph, struct pool *pool,
                                struct error *err);

#endif
