/* metrics/voc_map.h - average precision as Pascal VOC defines it.
 *
 * For each class: the detections of all images, surest first, are right if the
 * object they overlap most is at least that much shared, is not difficult, and
 * was not taken by a surer one. Those on difficult objects do not count. Agrees
 * with the challenge's development kit.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_VOC_MAP_H
#define METRICS_VOC_MAP_H

#include "metrics/coco_map.h"

/* NaN: no object to measure it on. */
struct voc_figures {
    double ap_11;     /* the mean of 11 precisions (until 2009) */
    double ap_all;    /* the area below the curve (since 2010) */
    double recall;    /* of all detections */
    double precision; /* of all detections; NaN if there are none */
    uint64_t n_right, n_wrong, n_objects;
};

struct voc_map;

/* least_overlap: 0.5 in the challenge. */
enum assay_status voc_map_new(size_t n_classes, double least_overlap,
                              struct voc_map **out, struct error *err);
void voc_map_free(struct voc_map *map); /* accepts NULL */

/* Adds another image. Ignored truths are the difficult ones; crowds, areas and
 * masks mean nothing here. Of equal scores, the one with the lower number
 * counts as surer. */
enum assay_status voc_map_add(struct voc_map *map,
                              const struct coco_truth *truths, size_t n_truths,
                              const struct coco_found *founds, size_t n_founds,
                              struct error *err);

/* points: NULL, or the precision at the recalls 0, 0.01, ... 1. */
enum assay_status voc_map_class(const struct voc_map *map, size_t class,
                                struct voc_figures *out,
                                double points[N_COCO_RECALLS],
                                struct error *err);

#endif
