/* ops/loss/rpn_loss.h - the losses of a region proposal network.
 *
 * As torchvision's RegionProposalNetwork.compute_loss. Inputs: chosen [s],
 * labels [s] and deltas [s,4] of AnchorSample, then for each level objectness
 * [n,a,h,w], then for each level deltas [n,4a,h,w]. Outputs: the mean binary
 * cross entropy of the chosen anchors, and the sum of the smooth L1 losses of
 * those that are objects, divided by the number of all chosen.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_RPN_LOSS_H
#define OPS_LOSS_RPN_LOSS_H

#include "graph/graph.h"

enum rpn_loss_input {
    RPN_LOSS_CHOSEN,
    RPN_LOSS_LABELS,
    RPN_LOSS_TARGETS,
    RPN_LOSS_MAPS /* the first one */
};

enum rpn_loss_output { RPN_LOSS_OBJECTNESS, RPN_LOSS_BOXES, RPN_LOSS_OUTPUTS };

struct rpn_loss_attrs {
    float beta; /* where the smooth L1 loss becomes linear */
};

#endif
