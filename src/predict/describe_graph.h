/* predict/describe_graph.h - a description from a graph.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_DESCRIBE_GRAPH_H
#define PREDICT_DESCRIBE_GRAPH_H

#include "graph/survey.h"
#include "predict/description.h"

/* The survey is of the same graph; counts are of one of its n_images. The
 * name is the graph's, the level not known. Start *out from {0}; the caller
 * releases it. Layers of images that predictions do not count are listed in it
 * by op. Fails where shapes of convolutions depend on data. */
enum assay_status describe_graph(const struct graph *graph,
                                 const struct survey *survey, int64_t n_images,
                                 struct description *out, struct error *err);

#endif
