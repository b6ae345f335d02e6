/* passes/merge_heads.h - convolutions of one map to a few channels each, as a
 * single one.
 *
 * The heads of a detector often end so: one channel says whether there is
 * something, four where, ten where its landmarks are. On channel blocks each of
 * them costs as much as a whole block. Together they fill one, and so do the
 * depthwise convolutions after them and the Transposes after those. A Split
 * gives everyone its channels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_MERGE_HEADS_H
#define PASSES_MERGE_HEADS_H

#include "graph/graph.h"

/* After the optimising pass, for a graph that runs on the host. New constants
 * come from the pool. After a failure the graph can only be freed. */
enum assay_status merge_heads(struct graph *graph, struct pool *pool,
                              struct error *err);

#endif
