/* ops/norm/dropout_training.h - drops values at random and makes up for them
 * with the others.
 *
 * Inputs: x, the share to drop and whether to drop any (left out: as the
 * attributes say), a seed [1] of integers or left out. Makes y and, where asked
 * for, what was kept (bool). With a seed among the inputs, what is drawn for an
 * element follows from it, the node's own and the element's place; without one
 * the numbers are those that ONNX's reference draws.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORM_DROPOUT_TRAINING_H
#define OPS_NORM_DROPOUT_TRAINING_H

#include "graph/graph.h"

enum dropout_training_input {
    DROPOUT_X,
    DROPOUT_RATIO,
    DROPOUT_TRAINING,
    DROPOUT_SEED,
    DROPOUT_INPUTS
};

struct dropout_training_attrs {
    uint32_t seed; /* the node's own: tells those of a graph apart */
    float ratio;   /* from 0 to less than 1 */
    bool is_on;
};

#endif
