/* ops/movement/slice.h - parts of a tensor: Slice and Split.
 *
 * Inputs: Slice: x, starts, ends, axes (left out: the first ones), steps (left
 * out: 1). Split: x, and the sizes of the parts (left out: equal ones).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_SLICE_H
#define OPS_MOVEMENT_SLICE_H

#include "graph/graph.h"

struct split_attrs {
    int64_t axis;
};

#endif
