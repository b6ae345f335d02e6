/* ops/movement/gather.h - elements picked by index, and put by index: Gather,
 * GatherElements, GatherND, ScatterElements, ScatterND.
 *
 * Inputs: x, the indices, and of the Scatter ops the updates. A negative index
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

enum scatter_reduction {
    SCATTER_NONE, /* the update takes the place of the element */
    SCATTER_ADD,
    SCATTER_MUL,
    SCATTER_MIN,
    SCATTER_MAX
};

struct scatter_attrs {
    int64_t axis; /* ScatterElements */
    enum scatter_reduction reduction;
};

/* An index as one from 0 into `size`; ASSAY_BAD_INPUT where it lies outside. */
static inline enum assay_status
index_resolve(int64_t index, int64_t size, int64_t *resolved, struct error *err)
{
    *resolved = index < 0 ? index + size : index;
    if (*resolved >= 0 && *resolved < size)
        return ASSAY_OK;
    *resolved = 0; /* whatever is computed from it */
    return error_set(err, ASSAY_BAD_INPUT,
                     "index %lld lies outside of %lld elements",
                     (long long)index, (long long)size);
}

#endif
