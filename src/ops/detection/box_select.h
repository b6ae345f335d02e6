/* ops/detection/box_select.h - NonMaxSuppression as ONNX has it: per class of
 * each image, boxes without those that overlap better ones.
 *
 * Inputs: boxes [n,b,4], scores [n,c,b], how many to keep of a class (left
 * out: 0), the overlap and the score above which a box is out and in. Output:
 * [k,3] of int64: image, class, box.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BOX_SELECT_H
#define OPS_DETECTION_BOX_SELECT_H

#include "graph/graph.h"

struct box_select_attrs {
    bool is_centred; /* boxes are centre and size; else two corners, y first */
};

#endif
