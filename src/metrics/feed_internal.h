/* metrics/feed_internal.h - what a feed holds.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_FEED_INTERNAL_H
#define METRICS_FEED_INTERNAL_H

#include "metrics/feed.h"
#include "metrics/model_internal.h"

/* One place of a batch. */
struct feed_slot {
    int width, height; /* of the picture in it */
    float *pixels;     /* of a detector, which reads pictures as they are */
    struct assay_box *boxes;
};

struct feed {
    struct assay_model *model;
    struct dataset *dataset;
    struct detect_options options; /* the model's, with what decodes it */
    struct model_inputs inputs;    /* how pictures become a batch */
    struct assay_dataset shown;    /* for the profiler */
    struct feed_slot *slots;
    size_t n_slots;
    struct progress *progress;
};

/* Which class of the dataset a label of the model is; SIZE_MAX: none. By name
 * where the model's labels have names, else by number. session: after a run. */
size_t feed_class(const struct feed *feed, const struct session *session,
                  int64_t label);

#endif
