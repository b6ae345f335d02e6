/* cli/metrics_show.h - metrics of one model, or of two side by side, as a
 * table, JSON, CSV or Markdown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_METRICS_SHOW_H
#define CLI_METRICS_SHOW_H

#include "cli/layers_show.h"
#include "metrics/feed.h"

#include <assay/profiler.h>
#include <stdbool.h>

struct metrics_view {
    const struct assay_model *models[2];
    const struct assay_profiler *profilers[2];
    const struct feed *feeds[2]; /* NULL: nothing was evaluated */
    const char *names[2];
    size_t n_models;
    const size_t *keys[2]; /* indices of the shown metrics in each profiler */
    size_t n_keys;
    bool has_notes;  /* say what each metric is */
    bool has_layers; /* list the layers of each model after the table */
};

typedef void metrics_show(const struct metrics_view *view, struct sink *sink,
                          const struct term *term);

metrics_show metrics_show_table, metrics_show_json, metrics_show_csv,
    metrics_show_markdown;

/* The i-th shown metric of a model. */
const struct assay_result *metrics_result(const struct metrics_view *view,
                                          size_t model, size_t i);
/* From the first model to the second. */
struct assay_enhancement metrics_enhancement(const struct metrics_view *view,
                                             size_t i);
struct layers_view metrics_layers(const struct assay_model *model);

#endif
