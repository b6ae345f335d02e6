/* ops/norm/dropout.h - what drops values while a model is trained and lets them
 * all pass when it is used. The pass that makes a graph for training puts
 * DropoutTraining in its place.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORM_DROPOUT_H
#define OPS_NORM_DROPOUT_H

#include "graph/graph.h"

struct dropout_attrs {
    float ratio; /* the share that training drops; 0: none */
};

const struct dropout_attrs *dropout_attrs(const struct node *node);

#endif
