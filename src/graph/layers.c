/* graph/layers.c - see layers.h. */
#include "graph/layers.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#include <string.h>

void layers_release(struct layers *layers)
{
    mem_free(layers->items);
    arena_release(&layers->arena);
    *layers = (struct layers){0};
}

/* Finds layers by their scope and name. */
struct layer_index {
    struct map numbers;
    struct str key;
};

/* The index of a node's layer; `end` if it is new. */
static enum assay_status find_layer(struct layer_index *index,
                                    const struct node *node, size_t end,
                                    size_t *at, struct error *err)
{
    uint64_t found = end;

    str_clear(&index->key);
    if (str_append_n(&index->key, (const char *)&node->scope,
                     sizeof node->scope) ||
        str_append(&index->key, node->name) ||
        (!map_find(&index->numbers, index->key.text, index->key.n, &found) &&
         map_put(&index->numbers, index->key.text, index->key.n, end)))
        return error_nomem(err, strlen(node->name), "the layers");
    *at = (size_t)found;
    return ASSAY_OK;
}

static enum assay_status name_layer(struct layers *layers,
                                    const struct graph *graph,
                                    const struct node *node,
                                    struct layer *layer, struct error *err)
{
    const struct graph_scope *scope =
        node->scope == GRAPH_NONE ? NULL : graph_scope(graph, node->scope);
    const char *path = scope ? scope->path : "";
    struct str text = {0};
    enum assay_status st = str_printf(
        &text, "%s%s%s", path, *path && node->name[0] ? "." : "", node->name);

    if (!st)
        layer->path = arena_strdup(&layers->arena, str_text(&text));
    str_release(&text);
    if (!layer->path)
        return error_nomem(err, strlen(path), "the name of a layer");
    layer->class_name =
        scope && !node->name[0] ? scope->class_name : node->op->name;
    layer->scope = node->scope;
    layer->op_name = node->name;
    layer->is_known = true;
    return ASSAY_OK;
}

static enum assay_status add_layer(struct layers *layers,
                                   const struct graph *graph,
                                   const struct node *node, struct error *err)
{
    struct layer *moved = vec_reserve(layers->items, &layers->capacity,
                                      layers->n + 1, sizeof *layers->items);

    if (!moved)
        return error_nomem(err, sizeof *moved, "a layer");
    layers->items = moved;
    layers->items[layers->n] = (struct layer){0};
    return name_layer(layers, graph, node, &layers->items[layers->n++], err);
}

/* is_counted: whether a value belongs to an earlier layer. */
static void layers_add_parameters(struct layer *layer,
                                  const struct graph *graph,
                                  const struct node *node, bool *is_counted)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        uint32_t id = node->inputs[i];
        const struct value *value;
        size_t n;

        if (id == GRAPH_NONE || is_counted[id])
            continue;
        value = graph_value(graph, id);
        if ((value->kind != VALUE_PARAMETER && value->kind != VALUE_BUFFER) ||
            !shape_elements(&value->shape, &n))
            continue;
        is_counted[id] = true;
        layer->parameters += value->kind == VALUE_PARAMETER ? n : 0;
        layer->parameter_bytes += n * dtype_bytes(value->dtype);
    }
}

static void layers_add_call(struct layer *layer, const struct node *node,
                            const struct survey *survey, size_t at)
{
    layer->calls++;
    for (size_t i = 0; i < node->n_outputs; i++) {
        uint32_t id = node->outputs[i];

        layer->is_known = layer->is_known && survey->is_known[id];
        if (survey->is_known[id] && !node->op->is_view)
            layer->output_bytes += tensor_bytes(&survey->values[id]);
    }
    layer->output = survey->values[node->outputs[0]].shape;
    layer->macs += survey->costs[at].macs;
    layer->flops += survey->costs[at].flops;
}

static void layers_add_up(struct layers *layers, const struct graph *graph)
{
    struct layer *total = &layers->total;

    for (size_t i = 0; i < layers->n; i++) {
        const struct layer *layer = &layers->items[i];

        total->calls += layer->calls;
        total->output_bytes += layer->output_bytes;
        total->macs += layer->macs;
        total->flops += layer->flops;
    }
    /* Includes those of heads that only training calls. */
    total->parameters = graph_parameter_elements(graph);
    total->parameter_bytes = graph_parameter_bytes(graph);
}

enum assay_status layers_list(struct layers *layers, const struct graph *graph,
                              const struct survey *survey, struct error *err)
{
    bool *is_counted = mem_array(graph_value_count(graph), sizeof *is_counted);
    struct layer_index index = {0};
    enum assay_status st = ASSAY_OK;

    if (!is_counted)
        return error_nomem(err, graph_value_count(graph), "the layers");
    for (size_t i = 0; !st && i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);
        size_t at = 0;

        st = find_layer(&index, node, layers->n, &at, err);
        if (!st && at == layers->n)
            st = add_layer(layers, graph, node, err);
        if (st)
            break;
        layers_add_parameters(&layers->items[at], graph, node, is_counted);
        layers_add_call(&layers->items[at], node, survey, i);
    }
    if (!st)
        layers_add_up(layers, graph);
    map_release(&index.numbers);
    str_release(&index.key);
    mem_free(is_counted);
    return st;
}
