/* ops/movement/affine_grid.h - the positions that affine maps give the pixels
 * of a picture, for GridSample.
 *
 * Inputs: theta [n,2,3] or [n,3,4], the picture's sizes (n,c,h,w or n,c,d,h,w).
 * Makes [n,h,w,2] or [n,d,h,w,3], each from -1 to 1, x first.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_AFFINE_GRID_H
#define OPS_MOVEMENT_AFFINE_GRID_H

#include "graph/graph.h"

struct affine_grid_attrs {
    bool aligns_corners; /* -1 and 1 are centres of pixels, not their edges */
};

#endif
