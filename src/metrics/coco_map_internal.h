/* metrics/coco_map_internal.h - what is kept of the images.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_COCO_MAP_INTERNAL_H
#define METRICS_COCO_MAP_INTERNAL_H

#include "metrics/coco_map.h"

enum coco_area { AREA_ALL, AREA_SMALL, AREA_MEDIUM, AREA_LARGE, N_AREAS };
enum { N_OVERLAPS = N_COCO_OVERLAPS, MOST_FOUND = 100 };

/* A detection after matching: one bit per overlap. */
struct coco_outcome {
    double score;
    uint32_t rank; /* in its image and category; 0 is the surest */
    uint16_t is_matched[N_AREAS], is_ignored[N_AREAS];
};

struct coco_category {
    struct coco_outcome *outcomes; /* image by image, the surest first */
    size_t n, capacity;
    uint64_t n_truths[N_AREAS]; /* to be found */
};

struct coco_map {
    enum coco_overlap overlap;
    struct coco_category *categories;
    size_t n_categories;
};

#endif
