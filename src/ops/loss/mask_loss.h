/* ops/loss/mask_loss.h - how far a mask head is from its targets.
 *
 * As torchvision's maskrcnn_loss. Inputs: logits [p,c,h,w], classes int64 [p],
 * targets [p,h,w]. Output, a scalar: the mean binary cross entropy of the maps
 * of each object's own class; 0 where there are no objects.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_MASK_LOSS_H
#define OPS_LOSS_MASK_LOSS_H

enum mask_loss_input {
    MASK_LOSS_LOGITS,
    MASK_LOSS_LABELS,
    MASK_LOSS_TARGETS,
    MASK_LOSS_INPUTS
};

#endif
