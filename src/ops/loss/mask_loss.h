/* ops/loss/mask_loss.h - the loss of a mask head.
 *
 * As torchvision's maskrcnn_loss. Inputs: logits [p,c,h,w], classes int64 [p],
 * targets [p,h,w]. Output: the mean binary cross entropy of each object's map
 * for its own class; 0 if there are no objects.
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
