/* ops/loss/loss.h - how far scores are from labels: NegativeLogLikelihoodLoss
 * and SoftmaxCrossEntropyLoss.
 *
 * Inputs: scores [n,c,...] (of the first one: their logarithms), labels
 * [n,...], weights of the classes [c] or left out. The second one makes the
 * logarithms of its softmax too, where asked for; gradients come from the loss
 * alone. For a backward pass it leaves its softmax.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_LOSS_LOSS_H
#define OPS_LOSS_LOSS_H

#include "graph/graph.h"

enum loss_reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN };

struct loss_attrs {
    enum loss_reduction reduction;
    bool has_ignored; /* labels of that class count nothing */
    int64_t ignored;
};

#endif
