/* metrics/detection_metrics.h - how well objects are found.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_DETECTION_METRICS_H
#define METRICS_DETECTION_METRICS_H

#include "metrics/coco_map.h"
#include "metrics/feed.h"

/* What an evaluation holds while it lasts. Start from {0}. */
struct detection_metric {
    const struct feed *feed;
    enum coco_overlap overlap;
    struct coco_map *map;
};

void detection_metric_release(struct detection_metric *metric);

/* The function that computes it, for boxes or masks; the metric must outlive
 * it. */
struct assay_metric_function
detection_metric_function(struct detection_metric *metric,
                          enum coco_overlap overlap);

#endif
