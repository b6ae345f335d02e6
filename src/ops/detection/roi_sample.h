/* ops/detection/roi_sample.h - draws the proposals that the heads of a detector
 * are trained on, with their targets.
 *
 * As torchvision's RoIHeads.select_training_samples: adds the objects' boxes to
 * the proposals of their image, matches all to objects, and draws some. Inputs:
 * proposals [r,4], counts [n], boxes of the objects [t,4], their classes int64
 * [t] and counts [n], seed int64 [1]. Outputs: boxes [s,4], counts int64 [n],
 * classes int64 [s] (0: background), objects int64 [s] (index into all objects;
 * -1: background), deltas [s,4] to the object (0 for background).
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

#endif
