/* cli/layers_show.h - the layers of a model as a table, JSON, CSV or Markdown.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LAYERS_SHOW_H
#define CLI_LAYERS_SHOW_H

#include "base/json.h"
#include "base/term.h"
#include "observe/layer_times.h"

struct layers_view {
    const char *file; /* what it is called; NULL: the graph's name */
    const struct graph *graph;
    const struct layers *layers;
    const struct layer_time *times; /* one per layer; NULL: it did not run */
    const char *input;              /* "images 1x3x224x224" */
    size_t n_unknown;               /* layers whose shapes depend on data */
};

typedef void layers_show(const struct layers_view *view, struct sink *sink,
                         const struct term *term);

/* Writes the member "layers" of an object. */
void layers_put_json(const struct layers_view *view, struct json_writer *json);

layers_show layers_show_table, layers_show_json, layers_show_csv,
    layers_show_markdown;

#endif
