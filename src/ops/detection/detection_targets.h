/* ops/detection/detection_targets.h - the objects that a detector is trained to
 * find: scales their boxes like their image.
 *
 * Inputs: boxes [t,4] in pixels of the photographs, classes int64 [t] from 1,
 * counts int64 [n], sizes [n,2] and original sizes [n,2] of
 * DetectionTransform. Output: boxes [t,4] in pixels of the resized images.
 * Refuses empty boxes and classes that the model does not have.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_DETECTION_TARGETS_H
#define OPS_DETECTION_DETECTION_TARGETS_H

#include "graph/graph.h"

enum detection_targets_input {
    DETECTION_TARGETS_BOXES,
    DETECTION_TARGETS_LABELS,
    DETECTION_TARGETS_COUNTS,
    DETECTION_TARGETS_SIZES,
    DETECTION_TARGETS_ORIGINAL,
    DETECTION_TARGETS_INPUTS
};

struct detection_targets_attrs {
    int64_t n_classes; /* including the background */
};

#endif
