/* ops/detection/rpn_decode.h - applies deltas to the chosen anchors and clips
 * the boxes to their image.
 *
 * Inputs: anchor indices and counts of RpnTopK, anchors [a,4], sizes [n,2],
 * then deltas [n,4a,h,w] of each level. Output: boxes [k,4].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_RPN_DECODE_H
#define OPS_DETECTION_RPN_DECODE_H

#include "graph/graph.h"

enum rpn_decode_input {
    RPN_DECODE_CHOSEN,
    RPN_DECODE_COUNTS,
    RPN_DECODE_ANCHORS,
    RPN_DECODE_SIZES,
    RPN_DECODE_DELTAS /* the first one */
};

#endif
