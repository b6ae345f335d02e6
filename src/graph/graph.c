/* graph/graph.c - see graph.h: the graph itself, its scopes and values. */
#include "graph/graph.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "graph/graph_internal.h"

#include <string.h>

enum assay_status graph_new(struct graph **out, struct error *err)
{
    struct graph *graph = mem_zalloc(sizeof *graph);

    *out = graph;
    if (!graph)
        return error_nomem(err, sizeof *graph, "a model");
    graph->name = graph->class_name = "";
    return ASSAY_OK;
}

void graph_free(struct graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->n_values; i++)
        tensor_release(&graph->values[i].data);
    for (size_t i = 0; i < graph->n_nodes; i++)
        node_release(&graph->nodes[i]);
    mem_free(graph->scopes);
    mem_free(graph->values);
    mem_free(graph->inputs);
    mem_free(graph->outputs);
    mem_free(graph->nodes);
    map_release(&graph->scope_ids);
    map_release(&graph->value_ids);
    arena_release(&graph->memory);
    mem_free(graph);
}

enum assay_status graph_set_name(struct graph *graph, const char *name,
                                 const char *class_name, struct error *err)
{
    const char *kept_name = arena_strdup(&graph->memory, name);
    const char *kept_class = arena_strdup(&graph->memory, class_name);

    if (!kept_name || !kept_class)
        return error_nomem(err, strlen(name), "the name of a model");
    graph->name = kept_name;
    graph->class_name = kept_class;
    return ASSAY_OK;
}

const char *graph_name(const struct graph *graph)
{
    return graph->name;
}

const char *graph_class(const struct graph *graph)
{
    return graph->class_name;
}

/* "parent.name" in the graph's memory; "name" directly under the model. */
static const char *graph_join_path(struct graph *graph, uint32_t parent,
                                   const char *name)
{
    struct str path = {0};
    const char *kept = NULL;

    if (parent == GRAPH_NONE)
        return arena_strdup(&graph->memory, name);
    if (!str_printf(&path, "%s.%s", graph->scopes[parent].path, name))
        kept = arena_strdup(&graph->memory, path.text);
    str_release(&path);
    return kept;
}

static enum assay_status graph_scope_append(struct graph *graph,
                                            const struct str *key,
                                            const struct graph_scope *scope,
                                            uint32_t *id)
{
    struct graph_scope *moved =
        vec_reserve(graph->scopes, &graph->scopes_capacity, graph->n_scopes + 1,
                    sizeof *graph->scopes);

    if (!moved)
        return ASSAY_NOMEM;
    graph->scopes = moved;
    if (!scope->name || !scope->class_name || !scope->path ||
        map_put(&graph->scope_ids, key->text, key->n, graph->n_scopes))
        return ASSAY_NOMEM;
    *id = (uint32_t)graph->n_scopes;
    graph->scopes[graph->n_scopes++] = *scope;
    return ASSAY_OK;
}

enum assay_status graph_scope_add(struct graph *graph, uint32_t parent,
                                  const char *name, const char *class_name,
                                  bool is_container, uint32_t *id,
                                  struct error *err)
{
    enum assay_status st;
    struct str key = {0};
    uint64_t found;

    st = str_append_n(&key, (const char *)&parent, sizeof parent);
    if (!st)
        st = str_append(&key, name);
    if (!st && map_find(&graph->scope_ids, key.text, key.n, &found)) {
        *id = (uint32_t)found;
    } else if (!st) {
        struct graph_scope scope = {
            .parent = parent,
            .name = arena_strdup(&graph->memory, name),
            .class_name = arena_strdup(&graph->memory, class_name),
            .path = graph_join_path(graph, parent, name),
            .is_container = is_container,
        };

        st = graph_scope_append(graph, &key, &scope, id);
    }
    str_release(&key);
    return st ? error_nomem(err, strlen(name), "the name of a module")
              : ASSAY_OK;
}

size_t graph_scope_count(const struct graph *graph)
{
    return graph->n_scopes;
}

const struct graph_scope *graph_scope(const struct graph *graph, uint32_t id)
{
    return &graph->scopes[id];
}

/* Appends a value whose name is in the graph's memory. Takes the data over only
 * on success. */
static enum assay_status value_append(struct graph *graph,
                                      const struct value *value, uint32_t *id,
                                      struct error *err)
{
    struct value *moved =
        vec_reserve(graph->values, &graph->values_capacity, graph->n_values + 1,
                    sizeof *graph->values);

    if (moved)
        graph->values = moved;
    if (!moved || !value->name ||
        (value->name[0] &&
         map_put_text(&graph->value_ids, value->name, graph->n_values)))
        return error_nomem(err, sizeof *value, "the values of a model");
    *id = (uint32_t)graph->n_values;
    graph->values[graph->n_values++] = *value;
    return ASSAY_OK;
}

enum assay_status graph_input(struct graph *graph, const char *name,
                              enum dtype dtype, uint32_t *value,
                              struct error *err)
{
    struct value input = {.kind = VALUE_INPUT,
                          .dtype = dtype,
                          .name = arena_strdup(&graph->memory, name),
                          .producer = GRAPH_NONE,
                          .scope = GRAPH_NONE};
    uint32_t *moved = vec_reserve(graph->inputs, &graph->inputs_capacity,
                                  graph->n_inputs + 1, sizeof *graph->inputs);
    enum assay_status st;

    if (!moved)
        return error_nomem(err, sizeof *moved, "the inputs of a model");
    graph->inputs = moved;
    st = value_append(graph, &input, value, err);
    if (!st)
        graph->inputs[graph->n_inputs++] = *value;
    return st;
}

void graph_declare_input(struct graph *graph, uint32_t value,
                         const struct shape *shape)
{
    graph->values[value].shape = *shape;
    graph->values[value].is_declared = true;
}

const struct shape *graph_input_shape(const struct graph *graph, size_t i)
{
    const struct value *input =
        i < graph->n_inputs ? &graph->values[graph->inputs[i]] : NULL;

    return input && input->is_declared ? &input->shape : NULL;
}

enum assay_status graph_parameter(struct graph *graph, uint32_t scope,
                                  const char *name, enum value_kind kind,
                                  enum dtype dtype, const struct shape *shape,
                                  uint32_t *value, struct error *err)
{
    struct value parameter = {.kind = kind,
                              .dtype = dtype,
                              .name = graph_join_path(graph, scope, name),
                              .shape = *shape,
                              .producer = GRAPH_NONE,
                              .scope = scope,
                              .reader = GRAPH_NONE};

    return value_append(graph, &parameter, value, err);
}

enum assay_status graph_constant(struct graph *graph, const char *name,
                                 struct tensor data, uint32_t *value,
                                 struct error *err)
{
    struct value constant = {.kind = VALUE_CONSTANT,
                             .dtype = data.dtype,
                             .name = arena_strdup(&graph->memory, name),
                             .shape = data.shape,
                             .data = data,
                             .producer = GRAPH_NONE,
                             .scope = GRAPH_NONE,
                             .reader = GRAPH_NONE};
    enum assay_status st = value_append(graph, &constant, value, err);

    if (st)
        tensor_release(&data);
    return st;
}

void graph_make_buffer(struct graph *graph, uint32_t value)
{
    graph->values[value].kind = VALUE_BUFFER;
}

void graph_find_readers(struct graph *graph)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; k < node->n_inputs; k++) {
            struct value *value;

            if (node->inputs[k] == GRAPH_NONE)
                continue;
            value = &graph->values[node->inputs[k]];
            if (value->scope == GRAPH_NONE && value->reader == GRAPH_NONE)
                value->reader = node->scope;
        }
    }
}

void graph_freeze(struct graph *graph, uint32_t value)
{
    graph->values[value].is_frozen = true;
}

void graph_note_dequantised(struct graph *graph, uint32_t value,
                            const struct dequantised *from)
{
    graph->values[value].is_dequantised = true;
    graph->values[value].from = *from;
}

void graph_set_fill(struct graph *graph, uint32_t value, enum fill fill,
                    float scale)
{
    graph->values[value].fill = fill;
    graph->values[value].fill_scale = scale;
}

/* graph_check() finds ids that are out of range. */
void value_use(struct graph *graph, uint32_t value, int change)
{
    if (value < graph->n_values)
        graph->values[value].n_uses += (uint32_t)change;
}

size_t graph_value_count(const struct graph *graph)
{
    return graph->n_values;
}

const struct value *graph_value(const struct graph *graph, uint32_t id)
{
    return &graph->values[id];
}

uint32_t graph_find_value(const struct graph *graph, const char *name)
{
    uint64_t found;

    return map_find_text(&graph->value_ids, name, &found) ? (uint32_t)found
                                                          : GRAPH_NONE;
}

enum assay_status graph_set_data(struct graph *graph, uint32_t value,
                                 struct tensor data, struct error *err)
{
    struct value *to = &graph->values[value];
    char own[64], found[64];

    if (to->dtype != data.dtype || !shape_equal(&to->shape, &data.shape)) {
        error_set(err, ASSAY_BAD_INPUT, "%s is %s %s, not %s %s", to->name,
                  dtype_name(to->dtype),
                  shape_text(&to->shape, own, sizeof own),
                  dtype_name(data.dtype),
                  shape_text(&data.shape, found, sizeof found));
        tensor_release(&data);
        return ASSAY_BAD_INPUT;
    }
    tensor_release(&to->data);
    to->data = data;
    return ASSAY_OK;
}

void graph_release_data(struct graph *graph, uint32_t value)
{
    tensor_release(&graph->values[value].data);
}

bool graph_has_data(const struct graph *graph)
{
    for (size_t i = 0; i < graph->n_values; i++) {
        const struct value *value = &graph->values[i];

        if ((value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER) &&
            !value->data.buffer)
            return false;
    }
    return true;
}

enum assay_status graph_output(struct graph *graph, const char *name,
                               uint32_t value, struct error *err)
{
    struct named_value *moved =
        vec_reserve(graph->outputs, &graph->outputs_capacity,
                    graph->n_outputs + 1, sizeof *graph->outputs);
    const char *kept = arena_strdup(&graph->memory, name);

    if (moved)
        graph->outputs = moved;
    if (!moved || !kept)
        return error_nomem(err, sizeof *moved, "the outputs of a model");
    graph->outputs[graph->n_outputs++] =
        (struct named_value){.name = kept, .value = value};
    value_use(graph, value, 1);
    return ASSAY_OK;
}

void graph_clear_outputs(struct graph *graph)
{
    while (graph->n_outputs)
        value_use(graph, graph->outputs[--graph->n_outputs].value, -1);
}

size_t graph_input_count(const struct graph *graph)
{
    return graph->n_inputs;
}

uint32_t graph_input_at(const struct graph *graph, size_t i)
{
    return graph->inputs[i];
}

size_t graph_output_count(const struct graph *graph)
{
    return graph->n_outputs;
}

uint32_t graph_output_at(const struct graph *graph, size_t i, const char **name)
{
    if (name)
        *name = graph->outputs[i].name;
    return graph->outputs[i].value;
}

static uint64_t graph_elements(const struct graph *graph, enum value_kind kind)
{
    uint64_t sum = 0;
    size_t n;

    for (size_t i = 0; i < graph->n_values; i++) {
        if (graph->values[i].kind == kind &&
            shape_elements(&graph->values[i].shape, &n))
            sum += n;
    }
    return sum;
}

uint64_t graph_parameter_elements(const struct graph *graph)
{
    return graph_elements(graph, VALUE_PARAMETER);
}

uint64_t graph_buffer_elements(const struct graph *graph)
{
    return graph_elements(graph, VALUE_BUFFER);
}

uint64_t graph_parameter_bytes(const struct graph *graph)
{
    uint64_t sum = 0;
    size_t n;

    for (size_t i = 0; i < graph->n_values; i++) {
        const struct value *value = &graph->values[i];

        if ((value->kind == VALUE_PARAMETER || value->kind == VALUE_BUFFER) &&
            shape_elements(&value->shape, &n))
            sum += n * dtype_bytes(value->dtype);
    }
    return sum;
}
