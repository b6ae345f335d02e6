/* ops/control/control.h - ops that run graphs inside their node: If, Loop,
 * Scan.
 *
 * A body takes its own inputs, then the values that it reads from the graph
 * around it (captured), which are the node's last inputs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONTROL_CONTROL_H
#define OPS_CONTROL_CONTROL_H

#include "graph/graph.h"

/* Inputs: the condition, what the first body (true) captures, what the second
 * (false) captures. */
struct if_attrs {
    size_t n_then; /* inputs of the first body */
};

/* Inputs: the iteration limit (left out: none), the condition (left out: true),
 * states, captured values. The body takes the iteration's number, the condition
 * and the states; it makes the next condition, the next states, and values to
 * keep from each iteration. Outputs: the last states, then each kept value
 * stacked along a new dimension. */
struct loop_attrs {
    size_t n_states;
};

/* Inputs: states, tensors to scan, captured values. The body takes the states
 * and a slice of each tensor; it makes the next states and values to keep.
 * Outputs as for Loop. */
struct scan_attrs {
    size_t n_states, n_scanned;
    int64_t axes[SHAPE_MAX_RANK];     /* of the scanned tensors */
    bool is_reverse[SHAPE_MAX_RANK];  /* starts at the last slice */
    int64_t out_axes[SHAPE_MAX_RANK]; /* of the kept values */
    bool is_out_reverse[SHAPE_MAX_RANK];
};

#endif
