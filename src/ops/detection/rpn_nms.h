/* ops/detection/rpn_nms.h - removes proposals that overlap better ones.
 *
 * Inputs: boxes [k,4], logits [k], counts [n,levels]. Removes small boxes, then
 * in each level those that overlap a better one by more than the limit, and
 * keeps the best of all levels. Outputs: proposals [r,4], by image, then by
 * descending score; counts int64 [n]; counts per level int64 [n,levels].
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
    float min_size; /* of a side, in pixels */
    float score;    /* least sigmoid of the logit */
    float iou;      /* overlap limit */
    int64_t keep;   /* at most, per image */
};

#endif
