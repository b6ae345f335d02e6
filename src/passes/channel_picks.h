/* passes/channel_picks.h - channels that move from map to map, moved once.
 *
 * Exporters write a shuffle of channels as Reshape, Transpose, Reshape, then a
 * Split or two Gathers, after a Concat. Each copies the maps, and those on
 * tensors of other ranks need them dense. Where Reshape, Flatten, Squeeze,
 * Unsqueeze, Transpose, Split, Slice, Gather and Concat together only choose
 * channels of maps [n,c,h,w] of float32, one PickChannels does it, which keeps
 * the layout that convolutions leave.
 *
 * Shapes must be known: the sizes of all inputs are declared. A Concat alone
 * stays one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PASSES_CHANNEL_PICKS_H
#define PASSES_CHANNEL_PICKS_H

#include "graph/graph.h"

/* After the other passes, for a graph that runs on the host. New constants come
 * from the pool. After a failure the graph can only be freed. */
enum assay_status channel_picks_fuse(struct graph *graph, struct pool *pool,
                                     struct error *err);

#endif
