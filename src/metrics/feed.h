/* metrics/feed.h - a dataset of files, as a model reads it.
 *
 * Hands samples to a profiler: pictures become the model's inputs as in `assay
 * run`, and if the dataset has objects, the model's outputs become detections.
 * Used by one thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_FEED_H
#define METRICS_FEED_H

#include "base/progress.h"
#include "data/dataset.h"
#include "vision/vision.h"

#include <assay/profiler.h>

struct feed;

struct feed_options {
    struct dataset_options data;
    /* For ONNX files: what the outputs are, and how pictures become inputs. */
    enum decode decode;
    struct recipe recipe;
    const char *image_input; /* see struct vision_options */
};

/* The model must outlive it. Refuses a model that cannot read pictures, or
 * whose classes cannot be the dataset's. */
enum assay_status feed_open(struct assay_model *model,
                            const struct feed_options *options,
                            struct feed **out, struct error *err);
void feed_close(struct feed *feed); /* accepts NULL */

/* Its name and number of samples. */
const struct assay_dataset *feed_dataset(const struct feed *feed);
size_t feed_class_count(const struct feed *feed);
bool feed_has_objects(const struct feed *feed);
/* Reports every sample that is read; NULL: no longer. */
void feed_set_progress(struct feed *feed, struct progress *progress);

/* Gives the dataset to the profiler. Call it before registering the standard
 * functions, which differ for objects and classes. The feed must outlive the
 * profiler. */
void profiler_set_feed(struct assay_profiler *profiler, struct feed *feed);

#endif
