/* ops/movement/resize.h - a tensor with more or fewer elements along its axes,
 * between which values are interpolated.
 *
 * Inputs: x, the region to crop (starts, then ends, as shares; for
 * RESIZE_CROP), the scales of the axes or the sizes of the result; what is not
 * needed is left out.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_RESIZE_H
#define OPS_MOVEMENT_RESIZE_H

#include "graph/graph.h"

enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };

/* Which place in x an element of the result comes from. */
enum resize_place {
    RESIZE_HALF_PIXEL, /* elements are squares: their centres */
    RESIZE_PYTORCH_HALF_PIXEL,
    RESIZE_ALIGN_CORNERS, /* elements are points: the ends are the same */
    RESIZE_ASYMMETRIC,    /* left edges are */
    RESIZE_HALF_PIXEL_FOR_NEAREST,
    RESIZE_CROP
};

/* Which element is nearest to a place between two. */
enum resize_nearest {
    RESIZE_ROUND_PREFER_FLOOR,
    RESIZE_ROUND_PREFER_CEIL,
    RESIZE_FLOOR,
    RESIZE_CEIL
};

struct resize_attrs {
    enum resize_mode mode;
    enum resize_place place;
    enum resize_nearest nearest;
    float cubic;           /* the coefficient of cubic interpolation: -0.75 */
    bool excludes_outside; /* weights of elements that are not there are 0 */
    float outside;         /* RESIZE_CROP: the value beyond x */
};

#endif
