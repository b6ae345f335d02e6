/* ops/movement/select_ops.h - elements chosen by what they are, or by a
 * condition: Where, NonZero, Compress, Unique.
 *
 * Inputs: Where: condition, x, y. NonZero: x. Compress: x, condition. Unique:
 * x; it makes the values, where each first stands, which of them each element
 * is, and how often each comes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_SELECT_OPS_H
#define OPS_MOVEMENT_SELECT_OPS_H

#include "graph/graph.h"

struct select_attrs {
    bool has_axis; /* false: of all elements, as one row */
    int64_t axis;
    bool is_sorted; /* Unique; false: in the order they come */
};

extern const struct attr_field select_fields[];

#endif
