/* ops/detection/box_match.h - matches boxes to objects; for anchor_match.c and
 * roi_sample.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BOX_MATCH_H
#define OPS_DETECTION_BOX_MATCH_H

#include "graph/op_class.h"
#include "ops/detection/boxes.h"

/* The match of a box that has no object. */
enum box_match { MATCH_BACKGROUND = -1, MATCH_BETWEEN = -2 };

struct match_rule {
    float high; /* at least this overlap: an object */
    float low;  /* less than this: background */
    /* Boxes that overlap an object most match an object too, however small the
     * overlap. */
    bool keeps_best;
};

/* Writes for each box the index of the object that it overlaps most (the first
 * of equals), or one of enum box_match. */
enum assay_status box_match(const struct op_context *context,
                            const struct match_rule *rule,
                            const struct box *boxes, size_t n,
                            const struct box *objects, size_t n_objects,
                            int64_t *matches, struct error *err);

#endif
