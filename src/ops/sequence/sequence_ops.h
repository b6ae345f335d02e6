/* ops/sequence/sequence_ops.h - lists of tensors, and values that may be
 * missing.
 *
 * Lists are packed (packed_list.h). An optional value that is there is the
 * value itself.
 *
 * SequenceConstruct: any number of tensors; makes the list of them.
 * SequenceInsert: a list, a tensor, its position (left out: the end).
 * SequenceErase: a list, a position (left out: the last).
 * SequenceAt: a list, a position. SequenceLength: a list.
 * ConcatFromSequence: a list; joins its tensors, along an axis or a new one.
 * SplitToSequence: a tensor, how long the parts are (a number or a list; left
 *   out: 1); makes the list of them.
 * SequenceMap: a list, then lists of that length or other values, then what the
 *   body captures; runs the body for each item, and makes a list of each of the
 *   body's outputs.
 * OptionalNone: makes a value that is missing. OptionalHasElement: a value, or
 *   nothing; makes a bool.
 *
 * Positions below 0 count from the end.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SEQUENCE_SEQUENCE_OPS_H
#define OPS_SEQUENCE_SEQUENCE_OPS_H

#include "graph/graph.h"

struct concat_from_sequence_attrs {
    int64_t axis;
    bool is_new; /* the axis is a new one */
};

struct split_to_sequence_attrs {
    int64_t axis;
    bool drops_axis; /* without lengths: the parts lose the axis */
};

struct sequence_map_attrs {
    size_t n_own; /* inputs that the body takes, the first list included */
};

#endif
