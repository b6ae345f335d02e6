/* predict/describe_graph.h - a description from a graph.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_DESCRIBE_GRAPH_H
#define PREDICT_DESCRIBE_GRAPH_H

#include "graph/survey.h"
#include "predict/description.h"

/* The shape of an input of one image; sizes that the graph leaves open are
 * 224. */
struct shape describe_image(const struct graph *graph);

/* The survey must be of this graph; counts are per image, of which it has
 * n_images. The name is the graph's, the level unknown. Start *out from {0};
 * the caller releases it. Layers that predictions do not count are listed in it
 * by op. Fails if the shapes of convolutions depend on data. */
enum assay_status describe_graph(const struct graph *graph,
                                 const struct survey *survey, int64_t n_images,
                                 struct description *out, struct error *err);

#endif
