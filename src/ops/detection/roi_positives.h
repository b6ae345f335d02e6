/* ops/detection/roi_positives.h - of the proposals that RoiSample drew, those
 * that are objects: what the mask head learns from.
 *
 * Inputs: boxes [s,4], counts [n], classes [s], objects [s]. Outputs: the same
 * of the proposals with a class above 0.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_POSITIVES_H
#define OPS_DETECTION_ROI_POSITIVES_H

/* Of inputs and of outputs. */
enum roi_positives {
    ROI_POSITIVES_BOXES,
    ROI_POSITIVES_COUNTS,
    ROI_POSITIVES_LABELS,
    ROI_POSITIVES_OBJECTS,
    ROI_POSITIVES_PARTS
};

#endif
