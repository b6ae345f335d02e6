/* ops/movement/pick_channels.h - PickChannels: some channels of one map or
 * several, in any order.
 *
 * Inputs: maps [n,c,...] that differ in their channels alone, then a list of
 * int64: for each channel of the output, which one of all maps' channels behind
 * one another it is. passes/channel_picks.h makes it of several ops that move
 * channels.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_PICK_CHANNELS_H
#define OPS_MOVEMENT_PICK_CHANNELS_H

#include "graph/graph.h"

/* Where a channel of the output comes from. */
struct picked_channel {
    size_t map; /* input */
    int64_t channel;
};

/* False if there is no such channel. */
bool pick_channel(const struct node *node, const struct tensor *const *inputs,
                  int64_t index, struct picked_channel *picked);
/* ASSAY_BAD_INPUT if the list has an index for which there is none. */
enum assay_status pick_check(const struct node *node,
                             const struct tensor *const *inputs,
                             struct error *err);

#endif
