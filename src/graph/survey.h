/* graph/survey.h - shapes and costs of a graph, without running it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GRAPH_SURVEY_H
#define GRAPH_SURVEY_H

#include "graph/graph.h"

/* Start from {0}. */
struct survey {
    struct pool *pool;
    struct tensor *values; /* one a value of the graph: type and shape; data
                              where that is small and follows from the shapes
                              of the inputs, as sizes for a Reshape do */
    bool *is_known;        /* one a value */
    struct cost *costs;    /* one a node; 0 where its shapes are not known */
    size_t n_values;
    size_t n_unknown; /* nodes whose shapes depend on data */
};

/* inputs: a shape for each of the graph's. What an op makes of the data, and
 * all that is made of that, stays unknown. Fails as a run would where shapes
 * contradict one another, naming the node. */
enum assay_status survey_graph(struct survey *survey, const struct graph *graph,
                               const struct shape *inputs, struct error *err);
void survey_release(struct survey *survey);

/* The shape of the graph's i-th output; NULL where it has no such output, or
 * the shape depends on data. */
const struct shape *survey_output_shape(const struct survey *survey,
                                        const struct graph *graph, size_t i);

#endif
