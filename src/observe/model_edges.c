/* observe/model_edges.c - see model_edges.h. */
#include "observe/model_edges.h"

/* RUN_NONE if the recorder did not see the node. */
static uint32_t edges_scope_of(const struct recorded *recorded,
                               const struct engine *engine,
                               const struct graph *graph, size_t node)
{
    uint32_t scope = recorded_scope(recorded, engine_node_scope(engine, node));

    if (scope != RUN_NONE && scope != RUN_ROOT)
        return scope;
    return recorded_scope(recorded,
                          engine_scope(engine, graph_node(graph, node)->scope));
}

/* Where a value comes from; false if it has always been there. */
static bool edges_origin(const struct recorded *recorded,
                         const struct engine *engine, const struct graph *graph,
                         uint32_t value, uint32_t *scope)
{
    const struct value *from;

    if (value == GRAPH_NONE)
        return false;
    from = graph_value(graph, value);
    *scope = RUN_NONE;
    if (from->producer == GRAPH_NONE)
        return from->kind == VALUE_INPUT;
    *scope = edges_scope_of(recorded, engine, graph, from->producer);
    return *scope != RUN_NONE;
}

enum assay_status model_edges(const struct recorded *recorded,
                              const struct engine *engine,
                              const struct graph *graph, struct error *err)
{
    struct run *run = recorded->run;
    enum assay_status st = ASSAY_OK;
    struct run_edge edge;
    const char *name;

    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        edge.to = edges_scope_of(recorded, engine, graph, i);
        for (size_t k = 0; !st && edge.to != RUN_NONE && k < node->n_inputs;
             k++) {
            if (edges_origin(recorded, engine, graph, node->inputs[k],
                             &edge.from))
                st = run_edge_add(run, &edge, err);
        }
    }
    edge.to = RUN_NONE;
    for (size_t i = 0; !st && i < graph_output_count(graph); i++) {
        if (edges_origin(recorded, engine, graph,
                         graph_output_at(graph, i, &name), &edge.from))
            st = run_edge_add(run, &edge, err);
    }
    return st;
}
