/* ops/detection/rpn_top_k.h - the anchors with the best scores of each level
 * and image.
 *
 * Inputs: objectness [n,a,h,w] of each level. Outputs: logits float32 [k] and
 * anchor int64 [k] (index into all anchors of an image), by image, level and
 * descending score (for equal scores, ascending index); counts int64
 * [n,levels].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_RPN_TOP_K_H
#define OPS_DETECTION_RPN_TOP_K_H

#include "graph/graph.h"

enum rpn_top_k_output {
    RPN_TOP_K_LOGITS,
    RPN_TOP_K_ANCHORS,
    RPN_TOP_K_COUNTS,
    RPN_TOP_K_OUTPUTS
};

struct rpn_top_k_attrs {
    int64_t k; /* per level and image */
};

#endif
