/* graph/survey.h - the shapes and costs of a graph, without running it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GRAPH_SURVEY_H
#define GRAPH_SURVEY_H

#include "graph/graph.h"

/* Start from {0}. */
struct survey {
    struct pool *pool;
    struct tensor *values; /* type and shape of each value of the graph; also
                              data that is small and follows from the shapes of
                              the inputs, such as the sizes of a Reshape */
    bool *is_known;        /* one per value */
    struct cost *costs;    /* one per node; 0 if its shapes are not known */
    size_t n_values;
    size_t n_unknown; /* nodes whose shapes depend on data */
};

/* inputs: a shape for each input of the graph. Shapes that depend on data stay
 * unknown. Fails as a run would if shapes do not fit, naming the node. */
enum assay_status survey_graph(struct survey *survey, const struct graph *graph,
                               const struct shape *inputs, struct error *err);
void survey_release(struct survey *survey);

/* The shape of output i of the graph; NULL if there is no such output or the
 * shape depends on data. */
const struct shape *survey_output_shape(const struct survey *survey,
                                        const struct graph *graph, size_t i);

#endif
