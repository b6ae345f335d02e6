/* ops/movement/gather.h - reads or writes elements by index: Gather,
 * GatherElements, GatherND, ScatterElements, ScatterND.
 *
 * Inputs: x, the indices, and for the Scatter ops the updates. A negative index
 * counts from the end.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_GATHER_H
#define OPS_MOVEMENT_GATHER_H

#include "graph/graph.h"

struct gather_attrs {
    int64_t axis;       /* Gather, GatherElements */
    int64_t batch_dims; /* GatherND */
};

/* Whether a Gather picks one piece of memory, which begins at the element
 * *first of x. */
bool gather_is_slice(const struct node *node,
                     const struct tensor *const *inputs, int64_t *first);

enum scatter_reduction {
    SCATTER_NONE, /* the update replaces the element */
    SCATTER_ADD,
    SCATTER_MUL,
    SCATTER_MIN,
    SCATTER_MAX
};

struct scatter_attrs {
    int64_t axis; /* ScatterElements */
    enum scatter_reduction reduction;
};

#endif
