/* ops/movement/pad.h - pads a tensor.
 *
 * Inputs: x, the pads (before each axis, then after each; negative ones crop),
 * the value (left out: 0), the axes to pad (left out: all).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_PAD_H
#define OPS_MOVEMENT_PAD_H

#include "graph/graph.h"

enum pad_mode {
    PAD_CONSTANT,
    PAD_REFLECT, /* mirrored at the outermost elements */
    PAD_EDGE,    /* repeats the outermost elements */
    PAD_WRAP     /* continues at the other side */
};

struct pad_attrs {
    enum pad_mode mode;
};

#endif
