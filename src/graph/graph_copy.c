/* graph/graph_copy.c - see graph.h: copies a graph. */
#include "base/mem.h"
#include "graph/graph_internal.h"

#include <string.h>

enum assay_status graph_copy_scopes(const struct graph *from, struct graph *to,
                                    struct error *err)
{
    enum assay_status st =
        graph_set_name(to, from->name, from->class_name, err);

    for (size_t i = 0; !st && i < from->n_scopes; i++) {
        const struct graph_scope *scope = &from->scopes[i];
        uint32_t id;

        st = graph_scope_add(to, scope->parent, scope->name, scope->class_name,
                             scope->is_container, &id, err);
    }
    return st;
}

static enum assay_status graph_copy_values(const struct graph *from,
                                           struct graph *to)
{
    to->values = mem_array(from->n_values, sizeof *to->values);
    if (!to->values)
        return ASSAY_NOMEM;
    to->values_capacity = from->n_values;
    for (size_t i = 0; i < from->n_values; i++) {
        struct value value = from->values[i];

        value.name = arena_strdup(&to->memory, value.name);
        if (!value.name ||
            (value.name[0] && map_put_text(&to->value_ids, value.name, i)))
            return ASSAY_NOMEM;
        if (value.data.buffer)
            value.data = tensor_share(&from->values[i].data);
        to->values[to->n_values++] = value;
    }
    return ASSAY_OK;
}

static enum assay_status graph_copy_ends(const struct graph *from,
                                         struct graph *to)
{
    to->inputs = mem_array(from->n_inputs, sizeof *to->inputs);
    to->outputs = mem_array(from->n_outputs, sizeof *to->outputs);
    if (!to->inputs || !to->outputs)
        return ASSAY_NOMEM;
    to->inputs_capacity = to->n_inputs = from->n_inputs;
    to->outputs_capacity = from->n_outputs;
    for (size_t i = 0; i < from->n_inputs; i++)
        to->inputs[i] = from->inputs[i];
    for (size_t i = 0; i < from->n_outputs; i++) {
        struct named_value output = from->outputs[i];

        output.name = arena_strdup(&to->memory, output.name);
        if (!output.name)
            return ASSAY_NOMEM;
        to->outputs[to->n_outputs++] = output;
    }
    return ASSAY_OK;
}

/* Counts the bodies one by one, so that a failure frees those made so far. */
static enum assay_status graph_copy_bodies(const struct node *from,
                                           struct node *to, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < from->n_bodies; i++) {
        st = graph_copy(from->bodies[i], &to->bodies[i], err);
        to->n_bodies += !st;
    }
    return st;
}

static enum assay_status graph_copy_nodes(const struct graph *from,
                                          struct graph *to, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    to->nodes = mem_array(from->n_nodes, sizeof *to->nodes);
    if (!to->nodes)
        return ASSAY_NOMEM;
    to->nodes_capacity = from->n_nodes;
    for (size_t i = 0; !st && i < from->n_nodes; i++) {
        const struct node *node = &from->nodes[i];
        struct node *made = &to->nodes[i];

        *made = *node;
        made->n_bodies = 0;
        made->attrs = graph_keep(to, node->attrs, node->op->attrs_bytes);
        made->name = arena_strdup(&to->memory, node->name);
        made->inputs =
            graph_keep(to, node->inputs, node->n_inputs * sizeof *node->inputs);
        made->outputs = graph_keep(to, node->outputs,
                                   node->n_outputs * sizeof *node->outputs);
        made->stands_for =
            graph_keep(to, node->stands_for,
                       node->n_stands_for * sizeof *node->stands_for);
        made->bodies =
            graph_keep(to, node->bodies, node->n_bodies * sizeof *node->bodies);
        to->n_nodes++;
        if (!made->attrs || !made->name || !made->inputs || !made->outputs ||
            !made->stands_for || !made->bodies)
            return ASSAY_NOMEM;
        st = graph_copy_bodies(node, made, err);
    }
    return st;
}

enum assay_status graph_copy(const struct graph *graph, struct graph **out,
                             struct error *err)
{
    enum assay_status st = graph_new(out, err);

    if (!st)
        st = graph_copy_scopes(graph, *out, err);
    if (!st)
        st = graph_copy_values(graph, *out);
    if (!st)
        st = graph_copy_ends(graph, *out);
    if (!st)
        st = graph_copy_nodes(graph, *out, err);
    if (st) {
        graph_free(*out);
        *out = NULL;
    }
    return st == ASSAY_NOMEM
               ? error_nomem(err, graph->n_nodes * sizeof *graph->nodes,
                             "a copy of a model")
               : st;
}
