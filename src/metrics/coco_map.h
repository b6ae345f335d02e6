/* metrics/coco_map.h - mean average precision as COCO defines it.
 *
 * For each category, size and overlap (0.50, 0.55, ... 0.95): the detections of
 * all images, surest first, are right if they overlap an object that no surer
 * one has taken; the precision, made monotonic from the end of the list, is
 * read at 101 recalls and averaged. Images are added one after the other, and
 * only a few bytes per detection are kept. Agrees with pycocotools.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_COCO_MAP_H
#define METRICS_COCO_MAP_H

#include "data/mask.h"

enum coco_overlap { COCO_BOXES, COCO_MASKS };

/* An object in the dataset. */
struct coco_truth {
    double x, y, width, height;
    double area; /* as given by the dataset: decides small, medium or large */
    size_t category;
    /* A crowd: any number of detections inside it are neither right nor
     * wrong. */
    bool is_crowd;
    bool is_ignored;         /* neither right nor wrong if found */
    const struct mask *mask; /* only for COCO_MASKS */
};

/* A detection. */
struct coco_found {
    double x, y, width, height;
    double score;
    size_t category;
    const struct mask *mask; /* only for COCO_MASKS */
    /* Decides its size; 0: that of its box or mask. pycocotools takes the box's
     * if the results have boxes, whatever is compared. */
    double area;
    size_t number; /* in the result files; only voc_map uses it */
};

/* NaN: no object to measure it on. Unless the name says otherwise, for all
 * sizes and at most 100 detections per category and image. */
struct coco_summary {
    double map;                              /* over all overlaps */
    double map_50, map_75;                   /* at one overlap */
    double map_small, map_medium, map_large; /* below 32^2, 96^2, above */
    double recall_1, recall_10, recall_100;  /* with so many detections */
    double recall_small, recall_medium, recall_large;
};

struct coco_map;

enum assay_status coco_map_new(size_t n_categories, enum coco_overlap overlap,
                               struct coco_map **out, struct error *err);
void coco_map_free(struct coco_map *map); /* accepts NULL */

/* Adds the objects and detections of another image; copies what it needs. Of
 * equal scores, those of earlier images count as surer. ASSAY_BAD_INPUT for an
 * unknown category or a score that is not a number. */
enum assay_status coco_map_add(struct coco_map *map,
                               const struct coco_truth *truths, size_t n_truths,
                               const struct coco_found *founds, size_t n_founds,
                               struct error *err);

enum assay_status coco_map_summarize(const struct coco_map *map,
                                     struct coco_summary *out,
                                     struct error *err);
/* The same for one category. */
enum assay_status coco_map_summarize_category(const struct coco_map *map,
                                              size_t category,
                                              struct coco_summary *out,
                                              struct error *err);

enum { N_COCO_OVERLAPS = 10, N_COCO_RECALLS = 101 };

/* 0.50, 0.55, ... 0.95. */
double coco_overlap_at(size_t i);

/* The precision at the recalls 0, 0.01, ... 1 for the i-th overlap, for all
 * sizes: of a category, or the mean of those with objects if category is
 * SIZE_MAX. False in *has_any: there are no objects. */
enum assay_status coco_map_curve(const struct coco_map *map, size_t category,
                                 size_t overlap,
                                 double precision[N_COCO_RECALLS],
                                 bool *has_any, struct error *err);

#endif
