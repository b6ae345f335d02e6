/* ops/movement/resize_nearest.h - resizes a map to the size of another, as
 * PyTorch's interpolate does in mode "nearest".
 *
 * Inputs: x [n,c,h,w], and a map that has the height and width to take.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_RESIZE_NEAREST_H
#define OPS_MOVEMENT_RESIZE_NEAREST_H

#include "graph/graph.h"

/* Which of `from` places i of `to` comes from: floor(i * from / to) in single
 * precision, rounded as PyTorch does. */
int64_t resize_nearest_source(int64_t i, int64_t from, int64_t to);

#endif
