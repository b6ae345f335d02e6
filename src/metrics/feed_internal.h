/* metrics/feed_internal.h - the state of a feed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_FEED_INTERNAL_H
#define METRICS_FEED_INTERNAL_H

#include "metrics/feed.h"
#include "session/public_model.h"

/* One image of a batch. */
struct feed_slot {
    int width, height; /* of its picture */
    float *pixels;     /* for a detector, which reads pictures in their own
                          size */
    struct assay_box *boxes;
};

struct feed {
    struct assay_model *model;
    struct dataset *dataset;
    struct vision_options vision; /* the model's, with how to decode it */
    struct model_inputs inputs;   /* how pictures become a batch */
    struct assay_dataset shown;   /* for the profiler */
    struct feed_slot *slots;
    size_t n_slots;
    struct progress *progress;
};

/* The dataset's class for a label of the model; SIZE_MAX: none. By name if the
 * model's labels have names, else by number. session: NULL before a run. */
size_t feed_class(const struct feed *feed, const struct session *session,
                  int64_t label);

#endif
