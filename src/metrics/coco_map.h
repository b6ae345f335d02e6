/* metrics/coco_map.h - mean average precision as COCO defines it.
 *
 * For each category, size and overlap (0.50, 0.55, ... 0.95): detections of all
 * images, the surest first, are right where they overlap an object that no
 * surer one has taken; the precision, never lower than further down the list,
 * is read at 101 recalls and averaged. Images are told one after the other, and
 * a few bytes a detection are kept. Agrees with pycocotools.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_COCO_MAP_H
#define METRICS_COCO_MAP_H

#include "data/mask.h"

enum coco_overlap { COCO_BOXES, COCO_MASKS };

/* An object that is there. */
struct coco_truth {
    double x, y, width, height;
    double area; /* as the dataset has it: tells small from large */
    size_t category;
    /* A crowd: detections inside of it are neither right nor wrong, however
     * many. */
    bool is_crowd;
    bool is_ignored;         /* neither right nor wrong when it is found */
    const struct mask *mask; /* only for COCO_MASKS */
};

/* One that was found. */
struct coco_found {
    double x, y, width, height;
    double score;
    size_t category;
    const struct mask *mask; /* only for COCO_MASKS */
};

/* NaN: no object that it could be told from. Without another word, all sizes
 * and at most 100 detections of a category and image. */
struct coco_summary {
    double map;                              /* over all overlaps */
    double map_50, map_75;                   /* at one */
    double map_small, map_medium, map_large; /* below 32^2, 96^2, above */
    double recall_1, recall_10, recall_100;  /* with so many detections */
    double recall_small, recall_medium, recall_large;
};

struct coco_map;

enum assay_status coco_map_new(size_t n_categories, enum coco_overlap overlap,
                               struct coco_map **out, struct error *err);
void coco_map_free(struct coco_map *map); /* accepts NULL */

/* The objects and detections of another image; nothing of them is kept. Where
 * scores of several images are equal, those of earlier ones count as surer. A
 * category that is not there or a score that is not a number is
 * ASSAY_BAD_INPUT. */
enum assay_status coco_map_add(struct coco_map *map,
                               const struct coco_truth *truths, size_t n_truths,
                               const struct coco_found *founds, size_t n_founds,
                               struct error *err);

enum assay_status coco_map_summarize(const struct coco_map *map,
                                     struct coco_summary *out,
                                     struct error *err);

#endif
