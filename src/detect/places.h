/* detect/places.h - where the modules and ops of a graph are in the tree of a
 * run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_PLACES_H
#define DETECT_PLACES_H

#include "graph/graph.h"
#include "run/run.h"

struct places {
    struct run *run;
    uint32_t model;   /* RUN_NONE: it is not there */
    uint32_t *scopes; /* one a scope of the graph; RUN_NONE: not there */
};

/* The model is the scope of this name below the root. Adds what is missing:
 * modules that were fused away never opened a span. */
enum assay_status places_add(struct places *places, struct run *run,
                             const struct graph *graph, const char *name,
                             struct error *err);
/* The same without adding anything. */
enum assay_status places_find(struct places *places, struct run *run,
                              const struct graph *graph, const char *name,
                              struct error *err);
void places_release(struct places *places); /* accepts {0} */

/* GRAPH_NONE: the model. */
uint32_t places_of(const struct places *places, uint32_t scope);
/* Where a node's work is shown: at its own span where it has one. */
enum assay_status places_of_node(const struct places *places,
                                 const struct node *node, uint32_t *place,
                                 struct error *err);

/* Adds the mean over so many iterations of what was summed over them. */
void places_add_cost(struct scope_work *work, const struct cost *sum,
                     double iterations);

#endif
