/* ops/movement/shape_views.h - the same elements in another shape: Identity,
 * Reshape, Flatten (from dimension 1), FlattenAt, Squeeze, Unsqueeze.
 *
 * The second input is the shape for Reshape (0 keeps a dimension, -1 takes the
 * rest), or the axes for Squeeze (left out: all of size 1) and Unsqueeze.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_SHAPE_VIEWS_H
#define OPS_MOVEMENT_SHAPE_VIEWS_H

#include "graph/graph.h"

struct shape_view_attrs {
    bool allows_zero; /* Reshape: 0 is an empty dimension */
    int64_t axis;     /* FlattenAt: where the second dimension begins */
};

#endif
