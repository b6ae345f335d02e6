/* ops/movement/resize_nearest.h - a map stretched to the size of another, each
 * value taken from the nearest one before it, as PyTorch's interpolate does.
 *
 * Inputs: x [n,c,h,w], a map whose height and width are taken.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_RESIZE_NEAREST_H
#define OPS_MOVEMENT_RESIZE_NEAREST_H

#include "graph/graph.h"

/* Where place i of `to` comes from: floor(i * from / to) in single precision,
 * the way PyTorch rounds it. */
int64_t resize_nearest_source(int64_t i, int64_t from, int64_t to);

#endif
