/* ops/detection/rpn_top_k.h - the best scored anchors of each level and image.
 *
 * Inputs: objectness [n,a,h,w], one a level. Outputs: logits float32 [k] and
 * anchor int64 [k] (index into all anchors of an image), image by image, level
 * by level, in falling order of score (equal scores: the lower index first);
 * counts int64 [n,levels].
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
    int64_t k; /* of a level and image */
};

const struct rpn_top_k_attrs *rpn_top_k_attrs(const struct node *node);

#endif
