/* ops/movement/pad.h - a tensor with more around it.
 *
 * Inputs: x, the pads (before each axis, then behind each; negative ones cut
 * off), the value (left out: 0), the axes they are for (left out: all).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_PAD_H
#define OPS_MOVEMENT_PAD_H

#include "graph/graph.h"

enum pad_mode {
    PAD_CONSTANT,
    PAD_REFLECT, /* mirrored at the outermost elements */
    PAD_EDGE,    /* the outermost elements again */
    PAD_WRAP     /* from the other side */
};

struct pad_attrs {
    enum pad_mode mode;
};

#endif
