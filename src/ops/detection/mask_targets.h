/* ops/detection/mask_targets.h - the targets of a mask head: the part of each
 * object's mask that lies in a box.
 *
 * As torchvision's project_masks_on_boxes, on masks resized like their image.
 * Inputs: boxes [p,4] in pixels of the resized images, counts [n],
 * objects int64 [p] (index into the objects of all images), sizes [n,2] of the
 * resized images, then the masks of each image, uint8 [t,h,w] in pixels of the
 * photograph. Output: [p,size,size].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_MASK_TARGETS_H
#define OPS_DETECTION_MASK_TARGETS_H

#include "graph/graph.h"

enum mask_targets_input {
    MASK_TARGETS_BOXES,
    MASK_TARGETS_COUNTS,
    MASK_TARGETS_OBJECTS,
    MASK_TARGETS_SIZES,
    MASK_TARGETS_MASKS /* the first one */
};

struct mask_targets_attrs {
    int64_t size;
};

#endif
