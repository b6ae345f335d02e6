/* session/footprint.c - see footprint_internal.h. */
#include "session/footprint_internal.h"

#include "base/mem.h"

#include <string.h>

/* What is needed of a scope. */
struct module {
    uint32_t depth;   /* 1 directly under the model */
    uint32_t n_nodes; /* in it and below */
    bool has_parameters;
};

struct tables {
    struct module *modules; /* one per scope */
    uint32_t *leaves;       /* per value: the depth down to which its readers
                               share the scopes of its producer */
};

static bool is_sequential(const struct graph_scope *scope)
{
    static const char *const classes[] = {"Sequential", "Conv2dNormActivation"};

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(scope->class_name, classes[i]) == 0)
            return true;
    }
    return scope->is_container;
}

static bool is_held(const struct graph *graph, uint32_t value)
{
    enum value_kind kind;

    if (value == GRAPH_NONE)
        return false;
    kind = graph_value(graph, value)->kind;
    return kind == VALUE_PARAMETER || kind == VALUE_BUFFER;
}

static bool uses_parameters(const struct graph *graph, const struct node *node)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (is_held(graph, node->inputs[i]))
            return true;
    }
    return false;
}

/* Scopes come after those that contain them. */
static void measure_modules(struct module *modules, const struct graph *graph)
{
    for (uint32_t i = 0; i < graph_scope_count(graph); i++) {
        uint32_t parent = graph_scope(graph, i)->parent;

        modules[i].depth = parent == GRAPH_NONE ? 1 : modules[parent].depth + 1;
    }
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);
        bool has_parameters = uses_parameters(graph, node);

        for (uint32_t scope = node->scope; scope != GRAPH_NONE;
             scope = graph_scope(graph, scope)->parent) {
            modules[scope].n_nodes++;
            modules[scope].has_parameters |= has_parameters;
        }
    }
}

static uint32_t footprint_depth_of(const struct module *modules, uint32_t scope)
{
    return scope == GRAPH_NONE ? 0 : modules[scope].depth;
}

/* The depth of the innermost scope that contains both; 0: the model. */
static uint32_t shared_depth(const struct module *modules,
                             const struct graph *graph, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (footprint_depth_of(modules, a) >= footprint_depth_of(modules, b))
            a = graph_scope(graph, a)->parent;
        else
            b = graph_scope(graph, b)->parent;
    }
    return footprint_depth_of(modules, a);
}

static void note_reader(struct tables *tables, const struct graph *graph,
                        uint32_t value, uint32_t scope)
{
    uint32_t producer, depth;

    if (value == GRAPH_NONE)
        return;
    producer = graph_value(graph, value)->producer;
    if (producer == GRAPH_NONE)
        return;
    depth = shared_depth(tables->modules, graph,
                         graph_node(graph, producer)->scope, scope);
    if (depth < tables->leaves[value])
        tables->leaves[value] = depth;
}

static void note_readers(struct tables *tables, const struct graph *graph)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++)
        tables->leaves[i] = UINT32_MAX;
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; k < node->n_inputs; k++)
            note_reader(tables, graph, node->inputs[k], node->scope);
    }
    for (size_t i = 0; i < graph_output_count(graph); i++)
        note_reader(tables, graph, graph_output_at(graph, i, NULL), GRAPH_NONE);
}

/* How many modules output the value. */
static uint64_t count_givers(const struct tables *tables,
                             const struct graph *graph, uint32_t value)
{
    const struct node *node =
        graph_node(graph, graph_value(graph, value)->producer);
    uint64_t n = uses_parameters(graph, node);

    for (uint32_t scope = node->scope; scope != GRAPH_NONE;
         scope = graph_scope(graph, scope)->parent) {
        const struct module *module = &tables->modules[scope];

        if (module->depth <= tables->leaves[value])
            break; /* it does not leave this one, nor those around it */
        n += module->has_parameters && module->n_nodes > 1 &&
             !is_sequential(graph_scope(graph, scope));
    }
    return n;
}

static void footprint_add_up(const struct tables *tables,
                             const struct graph *graph,
                             const struct survey *survey, struct footprint *out)
{
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        if (!survey->is_known[i])
            continue;
        if (graph_value(graph, i)->kind == VALUE_INPUT)
            out->input_bytes += tensor_bytes(&survey->values[i]);
        else if (graph_value(graph, i)->producer != GRAPH_NONE)
            out->activation_bytes += tensor_bytes(&survey->values[i]) *
                                     count_givers(tables, graph, i);
    }
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        uint32_t value = graph_output_at(graph, i, NULL);

        if (survey->is_known[value])
            out->activation_bytes += tensor_bytes(&survey->values[value]);
    }
}

enum assay_status footprint_estimate(const struct graph *graph,
                                     const struct survey *survey,
                                     struct footprint *out, struct error *err)
{
    struct tables tables = {
        .modules = mem_array(graph_scope_count(graph), sizeof *tables.modules),
        .leaves = mem_array(graph_value_count(graph), sizeof *tables.leaves),
    };
    enum assay_status st = ASSAY_OK;

    *out = (struct footprint){0};
    if (tables.modules && tables.leaves) {
        measure_modules(tables.modules, graph);
        note_readers(&tables, graph);
        footprint_add_up(&tables, graph, survey, out);
    } else {
        st = error_nomem(err, graph_value_count(graph) * sizeof *tables.leaves,
                         "the footprint of a model");
    }
    mem_free(tables.modules);
    mem_free(tables.leaves);
    return st;
}
