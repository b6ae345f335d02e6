/* ops/detection/roi_align.h - features of boxes, each from the level that fits
 * its size.
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
    ROI_ALIGN_MAPS /* the first one */
};

enum {
    ROI_ALIGN_MAX_LEVELS = 8,
    ROI_ALIGN_MAX_SIZE = 64,
    ROI_ALIGN_MAX_RATIO = 4
};

struct roi_align_attrs {
    int64_t size;           /* of the output, each way */
    int64_t sampling_ratio; /* points per bin, each way */
    float canonical_size;   /* 224: a box of this size belongs to ... */
    float canonical_level;  /* ... level 4 */
};

/* A feature map in memory: dense, or in blocks of 8 or 16 channels that are
 * adjacent for each pixel (oneDNN's nChw8c and nChw16c, with the last block
 * filled up). */
struct roi_map {
    const float *data;
    int64_t n_images, channels, height, width;
    int64_t block; /* 0: dense */
};

/* The kernel, for maps in any of the layouts. inputs: the op's; only the first
 * ROI_ALIGN_MAPS are read. output: dense [r,c,size,size]. */
enum assay_status roi_align_maps(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 const struct roi_map *maps, size_t n_maps,
                                 struct tensor *output, struct error *err);

/* The backward kernel: adds the gradient of map i to dx[i], which has the map's
 * layout; NULL: it is not wanted. Does not read the data of the maps. The sums
 * do not depend on the number of threads. */
enum assay_status roi_align_maps_backward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          const struct roi_map *maps,
                                          size_t n_maps,
                                          const struct tensor *dy,
                                          float *const *dx, struct error *err);

#endif
