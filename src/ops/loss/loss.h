/* ops/loss/loss.h - losses of scores and labels: NegativeLogLikelihoodLoss and
 * SoftmaxCrossEntropyLoss.
 *
 * Inputs: scores [n,c,...] (for the first op: their logarithms), labels
 * [n,...], weights of the classes [c] or left out. SoftmaxCrossEntropyLoss
 * optionally makes the logarithms of its softmax too, but only the loss has a
 * gradient. It saves its softmax for the backward pass.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_LOSS_H
#define OPS_LOSS_LOSS_H

#include "graph/graph.h"

enum loss_reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN };

struct loss_attrs {
    enum loss_reduction reduction;
    bool has_ignored; /* labels of that class do not count */
    int64_t ignored;
};

#endif
