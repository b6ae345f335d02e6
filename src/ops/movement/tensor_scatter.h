/* ops/movement/tensor_scatter.h - writes new rows into a cache of rows.
 *
 * Inputs: the cache, the update (shorter along the axis), where it begins for
 * each index of the first dimension (left out: 0).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_TENSOR_SCATTER_H
#define OPS_MOVEMENT_TENSOR_SCATTER_H

#include "graph/graph.h"

struct tensor_scatter_attrs {
    int64_t axis;
    bool is_circular; /* continues at the begin of the cache */
};

#endif
