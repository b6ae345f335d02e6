/* ops/loss/box_loss.h - how far the boxes of a detector are from its objects.
 *
 * As the second loss of torchvision's fastrcnn_loss. Inputs: deltas [s,4c],
 * classes int64 [s] (0: background), wanted deltas [s,4]. Output, a scalar:
 * the sum of the smooth L1 losses of the boxes that objects have for their own
 * class, divided by s.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_BOX_LOSS_H
#define OPS_LOSS_BOX_LOSS_H

#include "graph/graph.h"

enum box_loss_input {
    BOX_LOSS_DELTAS,
    BOX_LOSS_LABELS,
    BOX_LOSS_TARGETS,
    BOX_LOSS_INPUTS
};

struct box_loss_attrs {
    float beta; /* from where the smooth L1 loss goes straight */
};

const struct box_loss_attrs *box_loss_attrs(const struct node *node);

#endif
