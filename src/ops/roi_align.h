/* ops/roi_align.h - features of boxes, from the level that fits their size.
 *
 * As torchvision's MultiScaleRoIAlign. Inputs: boxes [r,4] in pixels of the
 * resized images, counts [n], sizes [n,2], then feature maps
 * [n,c,h,w] from fine to coarse. Output: [r,c,size,size].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_ROI_ALIGN_H
#define OPS_ROI_ALIGN_H

#include "graph/graph.h"

enum roi_align_input {
    ROI_ALIGN_BOXES,
    ROI_ALIGN_COUNTS,
    ROI_ALIGN_SIZES,
    ROI_ALIGN_MAPS /* the first of them */
};

enum { ROI_ALIGN_MAX_LEVELS = 8 };

struct roi_align_attrs {
    int64_t size;           /* of the output, both ways */
    int64_t sampling_ratio; /* points a bin, both ways */
    float canonical_size;   /* 224: the box that belongs to */
    float canonical_level;  /* 4 */
};

const struct roi_align_attrs *roi_align_attrs(const struct node *node);

#endif
