/* ops/detection/mask_ops.h - postprocessing of boxes and masks.
 *
 * MaskSelect: logits [d,c,s,s], labels [d] -> the sigmoid of the logits of each
 * detection's class, [d,1,s,s].
 * ResizeBoxes: boxes [d,4] in pixels of the resized images, counts [n], sizes
 * [n,2], original [n,2] -> boxes in pixels of the photographs.
 * PasteMasks: masks [d,1,s,s], boxes in pixels of the photographs, counts [n],
 * original [n,2] -> n outputs [d_i,1,h,w]: uint8 (above 0.5) or float32.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_MASK_OPS_H
#define OPS_DETECTION_MASK_OPS_H

#include "graph/graph.h"

struct paste_masks_attrs {
    bool is_soft; /* float32 probabilities instead of 0 and 1 */
};

#endif
