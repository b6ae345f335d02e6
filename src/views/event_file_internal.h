/* views/event_file_internal.h - the event files that TensorBoard reads:
 * TFRecords of protobuf messages.
 *
 * A sink remembers the first failure of writing; what can fail here beside is
 * memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_EVENT_FILE_INTERNAL_H
#define VIEWS_EVENT_FILE_INTERNAL_H

#include "base/sink.h"

#include <stdint.h>

/* When and at which step something was seen. */
struct event_time {
    double wall; /* seconds since 1970 */
    int64_t step;
};

/* What every event file begins with. */
enum assay_status event_version(struct sink *sink, double wall,
                                struct error *err);
enum assay_status event_scalar(struct sink *sink, struct event_time when,
                               const char *tag, double number,
                               struct error *err);
/* A JPEG or PNG as it is. */
enum assay_status event_image(struct sink *sink, struct event_time when,
                              const char *tag, int width, int height,
                              const void *bytes, size_t n, struct error *err);
/* Markdown. */
enum assay_status event_text(struct sink *sink, struct event_time when,
                             const char *tag, const char *text,
                             struct error *err);
/* In n_bins equal parts from the least of the values to the most. */
enum assay_status event_histogram(struct sink *sink, struct event_time when,
                                  const char *tag, const double *values,
                                  size_t n, size_t n_bins, struct error *err);

#endif
