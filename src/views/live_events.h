/* views/live_events.h - an event file for TensorBoard that grows while a
 * training runs.
 *
 * Every call appends whole records and hands them to the system, so that
 * TensorBoard shows them soon, and a program that is killed loses none that was
 * written before.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_LIVE_EVENTS_H
#define VIEWS_LIVE_EVENTS_H

#include "base/error.h"
#include "views/tensorboard.h"

struct live_events;

/* Makes the file; its folder exists. wall is now, in seconds since 1970. */
enum assay_status live_events_open(const char *path, double wall,
                                   struct live_events **out, struct error *err);
/* Removes the file if nothing was put into it. Accepts NULL. */
void live_events_close(struct live_events *events);

struct live_value {
    const char *tag; /* "train/loss" */
    double value;
};

/* The values of a step, as the training numbers it. */
enum assay_status live_events_put(struct live_events *events, uint64_t step,
                                  double wall, const struct live_value *values,
                                  size_t n, struct error *err);
/* A picture as it is at a step; TensorBoard has a slider for the steps. */
enum assay_status live_events_show(struct live_events *events, uint64_t step,
                                   double wall,
                                   const struct event_picture *picture,
                                   struct error *err);

#endif
