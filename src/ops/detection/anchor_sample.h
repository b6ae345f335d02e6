/* ops/detection/anchor_sample.h - draws the anchors that a region proposal
 * network is trained on, with their targets.
 *
 * Inputs: matches int64 [n,a] of AnchorMatch, anchors [a,4], boxes of the
 * objects [t,4], seed int64 [1]. Outputs: chosen int64 [s] (image * a +
 * anchor, ascending), labels [s] (1: object, 0: background), deltas [s,4] to
 * the object (0 for background).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ANCHOR_SAMPLE_H
#define OPS_DETECTION_ANCHOR_SAMPLE_H

#include "graph/graph.h"
#include "ops/detection/balanced_sample.h"

enum anchor_sample_input {
    ANCHOR_SAMPLE_MATCHES,
    ANCHOR_SAMPLE_ANCHORS,
    ANCHOR_SAMPLE_BOXES,
    ANCHOR_SAMPLE_SEED,
    ANCHOR_SAMPLE_INPUTS
};

enum anchor_sample_output {
    ANCHOR_SAMPLE_CHOSEN,
    ANCHOR_SAMPLE_LABELS,
    ANCHOR_SAMPLE_DELTAS,
    ANCHOR_SAMPLE_OUTPUTS
};

struct anchor_sample_attrs {
    struct sample_rule rule;
};

#endif
