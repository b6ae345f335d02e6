/* ops/detection/anchor_match.h - matches anchors to objects.
 *
 * Inputs: anchors [a,4], the same for every image; boxes of the objects [t,4]
 * in pixels of the resized images; counts [n] of each image's objects. Output:
 * int64 [n,a], the object (index into all boxes), -1: background, -2: neither.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ANCHOR_MATCH_H
#define OPS_DETECTION_ANCHOR_MATCH_H

#include "graph/graph.h"
#include "ops/detection/box_match.h"

enum anchor_match_input {
    ANCHOR_MATCH_ANCHORS,
    ANCHOR_MATCH_BOXES,
    ANCHOR_MATCH_COUNTS,
    ANCHOR_MATCH_INPUTS
};

struct anchor_match_attrs {
    struct match_rule rule;
};

#endif
