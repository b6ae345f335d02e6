/* ops/movement/select_ops.h - selects elements by value or by a condition:
 * Where, NonZero, Compress, Unique.
 *
 * Inputs: Where: condition, x, y. NonZero: x. Compress: x, condition. Unique:
 * x. Unique makes the values, the first index of each, the index into them for
 * each element, and their counts.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_SELECT_OPS_H
#define OPS_MOVEMENT_SELECT_OPS_H

#include "graph/graph.h"

struct select_attrs {
    bool has_axis; /* false: x is flattened */
    int64_t axis;
    bool is_sorted; /* Unique; false: in order of first occurrence */
};

extern const struct attr_field select_fields[];

#endif
