/* ops/detection/roi_align.h - features of boxes, from the level that fits their
 * size.
 *
 * As torchvision's MultiScaleRoIAlign. Inputs: boxes [r,4] in pixels of the
 * resized images, counts [n], sizes [n,2], then feature maps
 * [n,c,h,w] from fine to coarse. Output: [r,c,size,size].
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_DETECTION_ROI_ALIGN_H
#define OPS_DETECTION_ROI_ALIGN_H

#include "graph/graph.h"

enum roi_align_input {
    ROI_ALIGN_BOXES,
    ROI_ALIGN_COUNTS,
    ROI_ALIGN_SIZES,
    ROI_ALIGN_MAPS /* the first of them */
};

enum {
    ROI_ALIGN_MAX_LEVELS = 8,
    ROI_ALIGN_MAX_SIZE = 64, /* of the output, one way */
    ROI_ALIGN_MAX_RATIO = 4
};

struct roi_align_attrs {
    int64_t size;           /* of the output, both ways */
    int64_t sampling_ratio; /* points a bin, both ways */
    float canonical_size;   /* 224: the box that belongs to */
    float canonical_level;  /* 4 */
};

const struct roi_align_attrs *roi_align_attrs(const struct node *node);

/* A feature map as it lies in memory: dense, or in blocks of 16 channels whose
 * values of a pixel are side by side (oneDNN's nChw16c, the last block filled
 * up). */
struct roi_map {
    const float *data;
    int64_t n_images, channels, height, width;
    bool is_blocked;
};

/* The kernel, for whoever has maps in another layout. inputs: the op's; only
 * the first ROI_ALIGN_MAPS are read. output: dense [r,c,size,size]. */
enum assay_status roi_align_maps(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 const struct roi_map *maps, size_t n_maps,
                                 struct tensor *output, struct error *err);

/* The way back: adds to dx[i] the gradient of map i, which lies in memory as
 * the map does; NULL: it is not wanted. The data of the maps is not read. The
 * sums are the same with any number of threads. */
enum assay_status roi_align_maps_backward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          const struct roi_map *maps,
                                          size_t n_maps,
                                          const struct tensor *dy,
                                          float *const *dx, struct error *err);

#endif
