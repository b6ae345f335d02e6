/* cli/metrics_show.h - metrics of one model, or of two side by side, as a
 * table, JSON, CSV or Markdown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_METRICS_SHOW_H
#define CLI_METRICS_SHOW_H

#include "base/sink.h"
#include "base/term.h"

#include "metrics/feed.h"

#include <assay/profiler.h>
#include <stdbool.h>

struct metrics_view {
    const struct assay_model *models[2];
    const struct assay_profiler *profilers[2];
    const struct feed *feeds[2]; /* NULL: nothing was evaluated */
    const char *names[2];
    size_t n_models;
    const size_t *keys[2]; /* of each profiler, what is shown */
    size_t n_keys;
    bool has_notes;  /* what each metric is */
    bool has_layers; /* the layers of each model behind it */
};

typedef void metrics_show(const struct metrics_view *view, struct sink *sink,
                          const struct term *term);

metrics_show metrics_show_table, metrics_show_json, metrics_show_csv,
    metrics_show_markdown;

#endif
