/* ops/movement/rearrange.h - moves elements between axes: DepthToSpace,
 * SpaceToDepth, ReverseSequence.
 *
 * Inputs: x [n,c,h,w]; for ReverseSequence x and the lengths of the sequences.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_REARRANGE_H
#define OPS_MOVEMENT_REARRANGE_H

#include "graph/graph.h"

struct depth_attrs {
    int64_t block;
    bool is_depth_first; /* ONNX's mode CRD rather than DCR */
};

struct reverse_sequence_attrs {
    int64_t batch_axis, time_axis; /* 0 and 1, or 1 and 0 */
};

#endif
