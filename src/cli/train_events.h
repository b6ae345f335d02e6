/* cli/train_events.h - what TensorBoard sees of a training while it runs.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_TRAIN_EVENTS_H
#define CLI_TRAIN_EVENTS_H

#include "train/trainer.h"
#include "views/live_events.h"

/* Start from {0}: nobody watches. */
struct train_events {
    struct live_events *file;
    bool is_whole; /* it has every step so far */
};

/* Makes FOLDER/NAME/events... for the run. */
enum assay_status train_events_open(struct train_events *events,
                                    const char *folder, const char *run_path,
                                    struct error *err);
void train_events_close(struct train_events *events);

/* Both say so and stop writing if they cannot; a training goes on without
 * them. */
void train_events_step(struct train_events *events,
                       const struct train_step *step);
/* The drawn pictures of a folder. */
void train_events_show(struct train_events *events, uint64_t step,
                       const char *folder);

#endif
