/* ops/loss/box_loss.h - the loss of a detector's boxes.
 *
 * The second loss of torchvision's fastrcnn_loss. Inputs: deltas [s,4c],
 * classes int64 [s] (0: background), target deltas [s,4]. Output: the sum of
 * the smooth L1 losses of each object's box for its own class, divided by s.
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
    float beta; /* where the smooth L1 loss becomes linear */
};

#endif
