/* ops/sequence/recurrent.h - recurrent layers: RNN, LSTM, GRU.
 *
 * Inputs: x [time,batch,in], w [dirs,gates*hidden,in], r
 * [dirs,gates*hidden,hidden]. Optional: b [dirs,2*gates*hidden], the lengths of
 * the sequences [batch], the first state [dirs,batch,hidden], and for LSTM the
 * first cell and the peepholes [dirs,3*hidden].
 * Outputs: all states [time,dirs,batch,hidden], the last ones
 * [dirs,batch,hidden], and for LSTM the last cells.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SEQUENCE_RECURRENT_H
#define OPS_SEQUENCE_RECURRENT_H

#include "graph/graph.h"

enum recurrent_function {
    RECURRENT_SIGMOID,
    RECURRENT_TANH,
    RECURRENT_RELU,
    RECURRENT_AFFINE,
    RECURRENT_LEAKY_RELU,
    RECURRENT_THRESHOLDED_RELU,
    RECURRENT_SCALED_TANH,
    RECURRENT_HARD_SIGMOID,
    RECURRENT_ELU,
    RECURRENT_SOFTSIGN,
    RECURRENT_SOFTPLUS,
    RECURRENT_FUNCTIONS
};

struct recurrent_activation {
    enum recurrent_function function;
    float alpha, beta;
};

enum { RECURRENT_ACTIVATIONS = 3 }; /* f, g and h of ONNX */

struct recurrent_attrs {
    int64_t hidden;
    int directions;      /* 1 or 2 */
    bool is_reverse;     /* the direction, if there is only one */
    bool is_batch_first; /* ONNX's layout 1: the batch is the first dimension */
    bool resets_after;   /* GRU: the reset comes after the product */
    bool couples_forget; /* LSTM: the forget gate is 1 - the input gate */
    float clip;          /* limit of a function's argument; 0: none */
    struct recurrent_activation activations[2][RECURRENT_ACTIVATIONS];
};

#endif
