/* passes/fuse_host.h - what the kernels of a processor do better in one piece.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_FUSE_HOST_H
#define PASSES_FUSE_HOST_H

#include "graph/graph.h"

/* After fuse_graph(), for a graph that runs on the host. `is_narrow`: in 16
 * bits, for which an Attention and a PickConv2d have no kernels. After a
 * failure the graph can only be freed. */
enum assay_status fuse_for_host(struct graph *graph, struct pool *pool,
                                bool is_narrow, struct error *err);

#endif
