/* ops/detection/anchor_grid.h - the anchors of a region proposal network.
 *
 * Each level has one size and several aspect ratios. Inputs: batch [n,3,H,W],
 * then one feature map per level; only their shapes are read. Output: anchors
 * [a,4], by level, row, column, ratio.
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

#endif
