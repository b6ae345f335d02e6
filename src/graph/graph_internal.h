/* graph/graph_internal.h - the layout of a graph, for the files of this room.
 *
 * SPDX-License-Identifier: MIT */
#ifndef GRAPH_GRAPH_INTERNAL_H
#define GRAPH_GRAPH_INTERNAL_H

#include "base/arena.h"
#include "base/map.h"
#include "graph/graph.h"

struct named_value {
    const char *name;
    uint32_t value;
};

struct graph {
    struct arena memory; /* names, attributes, id lists */
    const char *name, *class_name;

    struct graph_scope *scopes;
    size_t n_scopes, scopes_capacity;
    struct map scope_ids; /* (parent, name) */

    struct value *values;
    size_t n_values, values_capacity;
    struct map value_ids; /* by name */

    uint32_t *inputs;
    size_t n_inputs, inputs_capacity;
    struct named_value *outputs;
    size_t n_outputs, outputs_capacity;

    struct node *nodes;
    size_t n_nodes, nodes_capacity;
};

/* Counts one reader more (1) or less (-1); ignores GRAPH_NONE. */
void value_use(struct graph *graph, uint32_t value, int change);

/* A copy in the graph's memory. NULL only when out of memory, also for n = 0.
 */
void *graph_keep(struct graph *graph, const void *bytes, size_t n);

/* Frees what a node owns outside the graph's memory. */
void node_release(struct node *node);

#endif
