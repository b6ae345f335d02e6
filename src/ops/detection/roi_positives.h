/* ops/detection/roi_positives.h - the proposals of RoiSample that are objects,
 * which the mask head is trained on.
 *
 * Inputs: boxes [s,4], counts [n], classes [s], objects [s]. Outputs: the same
 * for proposals with a class above 0.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_POSITIVES_H
#define OPS_DETECTION_ROI_POSITIVES_H

/* Both inputs and outputs. */
enum roi_positives {
    ROI_POSITIVES_BOXES,
    ROI_POSITIVES_COUNTS,
    ROI_POSITIVES_LABELS,
    ROI_POSITIVES_OBJECTS,
    ROI_POSITIVES_PARTS
};

#endif
