/* views/tensorboard.h - a run as an event file for TensorBoard.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TENSORBOARD_H
#define VIEWS_TENSORBOARD_H

#include "base/sink.h"
#include "run/run.h"

/* A JPEG or PNG, encoded; all borrowed. */
struct event_picture {
    const char *name;
    int width, height;
    const void *bytes;
    size_t n;
};

/* Latency, stages and observations as scalars over iterations, the latencies as
 * a histogram, the profile's table as an image and as text, and the pictures.
 * What the run lacks is left out, and so are observations whose names begin
 * with `without` (NULL: none), which another file of the folder has. */
enum assay_status view_tensorboard(const struct run *run, const char *without,
                                   const struct event_picture *pictures,
                                   size_t n_pictures, struct sink *sink,
                                   struct error *err);

/* Seconds since 1970 when the run began; 0 if it does not say. */
double run_began(const struct run *run);

#endif
