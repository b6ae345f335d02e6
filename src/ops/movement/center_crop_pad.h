/* ops/movement/center_crop_pad.h - crops or pads to given sizes around the
 * centre.
 *
 * Inputs: x, the sizes of some axes.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_CENTER_CROP_PAD_H
#define OPS_MOVEMENT_CENTER_CROP_PAD_H

#include "graph/graph.h"

struct center_crop_pad_attrs {
    size_t n_axes; /* 0: the sizes are those of all axes */
    int64_t axes[SHAPE_MAX_RANK];
};

#endif
