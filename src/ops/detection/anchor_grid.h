/* ops/detection/anchor_grid.h - the anchors of a region proposal network.
 *
 * One size and a few aspect ratios a level. Inputs: batch [n,3,H,W], then a
 * feature map a level; only their shapes are read. Output: anchors [a,4],
 * level by level, inside a level by row, column, ratio.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ANCHOR_GRID_H
#define OPS_DETECTION_ANCHOR_GRID_H

#include "graph/graph.h"

enum { ANCHOR_MAX_LEVELS = 8, ANCHOR_MAX_RATIOS = 8 };

struct anchor_grid_attrs {
    size_t n_levels, n_ratios;
    float sizes[ANCHOR_MAX_LEVELS];
    float ratios[ANCHOR_MAX_RATIOS]; /* height / width */
};

const struct anchor_grid_attrs *anchor_grid_attrs(const struct node *node);

#endif
