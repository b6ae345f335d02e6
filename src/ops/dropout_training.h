/* ops/dropout_training.h - drops values at random and makes up for them with
 * the others.
 *
 * Inputs: x, the share to drop (left out: a half), whether to drop any (left
 * out: no), a seed [1] of int64 or left out. Makes y and, where asked for, what
 * was kept (bool). The attributes are struct random_attrs, of which the seed
 * alone is used: with a seed as input it tells the nodes of a graph apart, and
 * what is drawn for an element follows from the two and its place; without one
 * it gives the numbers that ONNX's reference draws.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DROPOUT_TRAINING_H
#define OPS_DROPOUT_TRAINING_H

#include "ops/random_ops.h"

enum dropout_training_input {
    DROPOUT_X,
    DROPOUT_RATIO,
    DROPOUT_TRAINING,
    DROPOUT_SEED,
    DROPOUT_INPUTS
};

#endif
