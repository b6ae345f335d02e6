/* ops/movement/concat.h - joins tensors along one dimension.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_CONCAT_H
#define OPS_MOVEMENT_CONCAT_H

#include "graph/graph.h"

struct concat_attrs {
    int axis; /* negative: counted from the last one */
};

/* The axis, counted from 0, for tensors of that rank. */
int concat_axis(const struct node *node, int rank);

#endif
