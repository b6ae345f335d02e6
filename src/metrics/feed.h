/* metrics/feed.h - a dataset of files, as a model reads it.
 *
 * What a profiler is handed samples from: pictures become the model's inputs as
 * `assay run` makes them, and where the dataset has objects, what the model
 * says of them becomes detections. Used by one thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_FEED_H
#define METRICS_FEED_H

#include "base/progress.h"
#include "data/dataset.h"
#include "detect/detect.h"

#include <assay/profiler.h>

struct feed;

struct feed_options {
    struct dataset_options data;
    /* For ONNX files: what the outputs are, and how a picture becomes an
     * input. */
    enum decode decode;
    struct recipe recipe;
};

/* The model must outlive it. A model that cannot read pictures, or whose
 * classes cannot be the dataset's, is refused. */
enum assay_status feed_open(struct assay_model *model,
                            const struct feed_options *options,
                            struct feed **out, struct error *err);
void feed_close(struct feed *feed); /* accepts NULL */

/* What it is called, and how many samples it has. */
const struct assay_dataset *feed_dataset(const struct feed *feed);
size_t feed_class_count(const struct feed *feed);
bool feed_has_objects(const struct feed *feed);
/* Told of every sample that is read; NULL: not any more. */
void feed_set_progress(struct feed *feed, struct progress *progress);

/* Gives the profiler the dataset; before the standard functions are
 * registered, since those of objects and of classes differ. The feed must
 * outlive the profiler. */
void profiler_set_feed(struct assay_profiler *profiler, struct feed *feed);

#endif
