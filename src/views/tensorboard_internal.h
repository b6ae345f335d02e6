/* views/tensorboard_internal.h - what the event files for TensorBoard are made
 * of: TFRecords of protobuf messages.
 *
 * A sink remembers the first failure to write; otherwise only memory can be
 * short here.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TENSORBOARD_INTERNAL_H
#define VIEWS_TENSORBOARD_INTERNAL_H

#include "base/sink.h"
#include "run/run.h"

#include <stdint.h>

/* When something was seen, and at which step. */
struct event_time {
    double wall; /* seconds since 1970 */
    int64_t step;
};

/* The first event of every file. */
enum assay_status event_version(struct sink *sink, double wall,
                                struct error *err);
enum assay_status event_scalar(struct sink *sink, struct event_time when,
                               const char *tag, double number,
                               struct error *err);
/* A JPEG or PNG file. */
enum assay_status event_image(struct sink *sink, struct event_time when,
                              const char *tag, int width, int height,
                              const void *bytes, size_t n, struct error *err);
/* Markdown. */
enum assay_status event_text(struct sink *sink, struct event_time when,
                             const char *tag, const char *text,
                             struct error *err);
/* In n_bins equal parts from the smallest to the largest value. */
enum assay_status event_histogram(struct sink *sink, struct event_time when,
                                  const char *tag, const double *values,
                                  size_t n, size_t n_bins, struct error *err);

/* The stages of a run and two levels of modules below each, and the rows with
 * the most self time: as Markdown of few columns, and as a PNG, whose width and
 * height are in pixels. */
enum assay_status table_text(const struct run *run, struct sink *sink,
                             struct error *err);
enum assay_status table_picture(const struct run *run, struct sink *sink,
                                int *width, int *height, struct error *err);

#endif
