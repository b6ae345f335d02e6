/* ops/detection/box_match.h - which object a box stands for; for anchor_match.c
 * and roi_sample.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BOX_MATCH_H
#define OPS_DETECTION_BOX_MATCH_H

#include "graph/op_class.h"
#include "ops/detection/boxes.h"

/* What becomes of a box that has no object. */
enum box_match { MATCH_BACKGROUND = -1, MATCH_BETWEEN = -2 };

struct match_rule {
    float high; /* at least so much overlap: an object */
    float low;  /* less than that: background */
    /* The boxes that overlap an object most stand for an object too, however
     * little that is. */
    bool keeps_best;
};

/* For each box the object it overlaps most (its index, the first of equals),
 * or one of enum box_match. Without objects all are background. */
enum assay_status box_match(const struct op_context *context,
                            const struct match_rule *rule,
                            const struct box *boxes, size_t n,
                            const struct box *objects, size_t n_objects,
                            int64_t *matches, struct error *err);

#endif
