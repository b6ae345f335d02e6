/* passes/pick_convolutions.h - convolutions that read the channels of a shuffle
 * where they are.
 *
 * A depthwise Conv2d after a PickChannels that only changes the order of all
 * channels of one map comes before it, with its weights in that order. A Conv2d
 * of 1x1 after a PickChannels becomes a PickConv2d. Both only if nothing else
 * reads the value in between.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_PICK_CONVOLUTIONS_H
#define PASSES_PICK_CONVOLUTIONS_H

#include "graph/graph.h"

/* After channel_picks_fuse(), for a graph that runs on the host. New weights
 * come from the pool. After a failure the graph can only be freed. */
enum assay_status pick_convolutions(struct graph *graph, struct pool *pool,
                                    struct error *err);

#endif
