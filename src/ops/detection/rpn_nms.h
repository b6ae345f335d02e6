/* ops/detection/rpn_nms.h - proposals without those that overlap better ones.
 *
 * Inputs: boxes [k,4], logits [k], counts [n,levels]. Small boxes go, then, in
 * each level, those that overlap a better one by more than the threshold; the
 * best of all levels stay. Outputs: proposals [r,4] in falling order of score,
 * image by image; counts int64 [n]; int64 [n,levels], how many of them are of
 * each level.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_RPN_NMS_H
#define OPS_DETECTION_RPN_NMS_H

#include "graph/graph.h"

enum rpn_nms_input { RPN_NMS_BOXES, RPN_NMS_LOGITS, RPN_NMS_COUNTS };
enum rpn_nms_output {
    RPN_NMS_PROPOSALS,
    RPN_NMS_KEPT,
    RPN_NMS_LEVELS,
    RPN_NMS_OUTPUTS
};

struct rpn_nms_attrs {
    float min_size; /* of a side, pixels */
    float score;    /* sigmoid of the logit, at least */
    float iou;      /* overlap from which the worse one goes */
    int64_t keep;   /* at most, of an image */
};

const struct rpn_nms_attrs *rpn_nms_attrs(const struct node *node);

#endif
