/* ops/detection/roi_sample.h - the proposals that the heads of a detector learn
 * from, and what they are to learn.
 *
 * As torchvision's RoIHeads.select_training_samples: the objects' own boxes
 * join the proposals of their image, each finds its object, some are drawn.
 * Inputs: proposals [r,4], counts [n], boxes of the objects [t,4], their
 * classes int64 [t], counts [n] of them, seed int64 [1]. Outputs: boxes [s,4],
 * counts int64 [n], classes int64 [s] (0: background), objects int64 [s]
 * (index into all of them; -1: background), deltas [s,4] to the object, 0
 * where there is none.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_SAMPLE_H
#define OPS_DETECTION_ROI_SAMPLE_H

#include "graph/graph.h"
#include "ops/detection/balanced_sample.h"
#include "ops/detection/box_match.h"

enum roi_sample_input {
    ROI_SAMPLE_PROPOSALS,
    ROI_SAMPLE_COUNTS,
    ROI_SAMPLE_OBJECT_BOXES,
    ROI_SAMPLE_OBJECT_LABELS,
    ROI_SAMPLE_OBJECT_COUNTS,
    ROI_SAMPLE_SEED,
    ROI_SAMPLE_INPUTS
};

enum roi_sample_output {
    ROI_SAMPLE_BOXES,
    ROI_SAMPLE_KEPT,
    ROI_SAMPLE_LABELS,
    ROI_SAMPLE_OBJECTS,
    ROI_SAMPLE_DELTAS,
    ROI_SAMPLE_OUTPUTS
};

struct roi_sample_attrs {
    struct match_rule match;
    struct sample_rule sample;
    float weights[4]; /* deltas are multiplied by these: 10, 10, 5, 5 */
};

const struct roi_sample_attrs *roi_sample_attrs(const struct node *node);

#endif
