/* ops/norm/dropout.h - dropout in a model that is used, not trained: passes all
 * values. The pass that makes a graph for training replaces it by
 * DropoutTraining.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORM_DROPOUT_H
#define OPS_NORM_DROPOUT_H

#include "graph/graph.h"

struct dropout_attrs {
    float ratio; /* of values that training drops; 0: none */
};

const struct dropout_attrs *dropout_attrs(const struct node *node);

#endif
