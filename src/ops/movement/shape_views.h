/* ops/movement/shape_views.h - the same elements under another shape: Identity,
 * Reshape, FlattenAt, Squeeze, Unsqueeze.
 *
 * The second input is Reshape's shape (0 keeps a dimension, -1 is what
 * remains), or the axes of Squeeze (left out: all of size 1) and Unsqueeze.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_SHAPE_VIEWS_H
#define OPS_MOVEMENT_SHAPE_VIEWS_H

#include "graph/graph.h"

struct shape_view_attrs {
    bool allows_zero; /* Reshape: 0 is an empty dimension */
    int64_t axis;     /* FlattenAt: the first one of the second dimension */
};

#endif
