/* ops/movement/concat.h - tensors one behind the other along a dimension.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_CONCAT_H
#define OPS_MOVEMENT_CONCAT_H

#include "graph/graph.h"

struct concat_attrs {
    int axis; /* negative: counted from the last one */
};

const struct concat_attrs *concat_attrs(const struct node *node);
/* The axis from 0 on, for tensors of that rank. */
int concat_axis(const struct node *node, int rank);

#endif
