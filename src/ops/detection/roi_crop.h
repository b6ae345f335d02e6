/* ops/detection/roi_crop.h - ONNX's RoiAlign: features of boxes from one map.
 *
 * Inputs: x [n,c,h,w], boxes [r,4], the image of each box [r]. Output:
 * [r,c,height,width].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_CROP_H
#define OPS_DETECTION_ROI_CROP_H

#include "graph/graph.h"

struct roi_crop_attrs {
    int64_t height, width;  /* of the output */
    int64_t sampling_ratio; /* points per bin, each way; 0: by its size */
    float scale;            /* from the boxes to x */
    bool is_half_pixel;     /* boxes are relative to the corners of pixels */
    bool is_max;            /* the largest of the points, not their mean */
};

#endif
