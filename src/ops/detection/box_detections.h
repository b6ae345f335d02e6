/* ops/detection/box_detections.h - turns class scores and box deltas into
 * detections.
 *
 * As torchvision's RoIHeads.postprocess_detections. Inputs: class logits [r,c]
 * (class 0 is the background), deltas [r,4c], proposals [r,4], counts [n],
 * sizes [n,2]. Outputs: boxes [d,4], scores [d], labels int64 [d], counts
 * int64 [n]; by image, then by descending score.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BOX_DETECTIONS_H
#define OPS_DETECTION_BOX_DETECTIONS_H

#include "graph/graph.h"

enum box_detections_input {
    BOX_DETECTIONS_LOGITS,
    BOX_DETECTIONS_DELTAS,
    BOX_DETECTIONS_PROPOSALS,
    BOX_DETECTIONS_COUNTS,
    BOX_DETECTIONS_SIZES,
    BOX_DETECTIONS_INPUTS
};

enum box_detections_output {
    BOX_DETECTIONS_BOXES,
    BOX_DETECTIONS_SCORES,
    BOX_DETECTIONS_LABELS,
    BOX_DETECTIONS_KEPT,
    BOX_DETECTIONS_OUTPUTS
};

struct box_detections_attrs {
    float weights[4]; /* deltas are divided by these: 10, 10, 5, 5 */
    float score;      /* detections score more than this */
    float min_size;   /* of a side, in pixels */
    float iou;        /* overlap limit within a class */
    int64_t keep;     /* at most, per image */
};

#endif
