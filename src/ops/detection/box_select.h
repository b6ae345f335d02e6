/* ops/detection/box_select.h - ONNX's NonMaxSuppression: for each class of each
 * image, removes boxes that overlap better ones.
 *
 * Inputs: boxes [n,b,4], scores [n,c,b], how many to keep per class (left out:
 * 0), the overlap above which a box is removed, the score that boxes must
 * exceed. Output: int64 [k,3]: image, class, box.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_BOX_SELECT_H
#define OPS_DETECTION_BOX_SELECT_H

#include "graph/graph.h"

struct box_select_attrs {
    bool is_centred; /* boxes are centre and size, not two corners, y first */
};

#endif
