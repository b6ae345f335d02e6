/* ops/norm/dropout_training.h - drops values at random and scales the others
 * up.
 *
 * Inputs: x, the ratio to drop, whether to drop any (both left out: as the
 * attributes say), a seed [1] of integers or left out. Makes y and optionally
 * which values were kept (bool). With a seed as input, the draw for an element
 * depends on it, on the node's seed and on the element's index; without one, it
 * is that of ONNX's reference.
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
    uint32_t seed; /* differs between the nodes of a graph */
    float ratio;   /* from 0 to less than 1 */
    bool is_on;
};

#endif
