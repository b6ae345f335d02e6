/* ops/control/control.h - ops that run graphs inside of their node: If, Loop,
 * Scan.
 *
 * A body's inputs are its own, then what it reads of the graph around it; the
 * node's last inputs are those.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONTROL_CONTROL_H
#define OPS_CONTROL_CONTROL_H

#include "graph/graph.h"

/* Inputs: the condition, what the first body (true) reads, what the second
 * (false) reads. */
struct if_attrs {
    size_t n_then; /* inputs of the first */
};

/* Inputs: most iterations (left out: any number), condition (left out: true),
 * states, what the body reads. The body takes the iteration's number, the
 * condition, the states; it makes the next condition, the next states, and
 * values that are kept of every iteration. Outputs: the last states, and each
 * of these values as one tensor with a dimension more. */
struct loop_attrs {
    size_t n_states;
};

/* Inputs: states, tensors to go through, what the body reads. The body takes
 * the states and a slice of each tensor; it makes the next states and values
 * that are kept. Outputs as Loop's. */
struct scan_attrs {
    size_t n_states, n_scanned;
    int64_t axes[SHAPE_MAX_RANK];     /* of the tensors; the first ones */
    bool is_reverse[SHAPE_MAX_RANK];  /* from the last slice on */
    int64_t out_axes[SHAPE_MAX_RANK]; /* of what is kept */
    bool is_out_reverse[SHAPE_MAX_RANK];
};

#endif
