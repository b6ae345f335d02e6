/* ops/movement/grid_sample.h - samples pictures at given places.
 *
 * Inputs: x [n,c,h,w], places [n,h',w',2]: horizontal and vertical, from -1 to
 * 1.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_GRID_SAMPLE_H
#define OPS_MOVEMENT_GRID_SAMPLE_H

#include "graph/graph.h"

enum grid_mode { GRID_BILINEAR, GRID_NEAREST, GRID_BICUBIC };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

struct grid_sample_attrs {
    enum grid_mode mode;
    enum grid_padding padding; /* the values outside x */
    bool aligns_corners;       /* -1 and 1 are the outermost centres */
};

#endif
