/* graph/node.c - see graph.h: the nodes of a graph. */
#include "base/mem.h"
#include "base/vec.h"
#include "graph/graph_internal.h"

#include <string.h>

/* A copy of a list of ids with one more. */
static uint32_t *graph_append_id(struct graph *graph, const uint32_t *ids,
                                 size_t n, uint32_t id)
{
    uint32_t *grown = arena_alloc(&graph->memory, (n + 1) * sizeof *grown);

    if (!grown)
        return NULL;
    if (n)
        memcpy(grown, ids, n * sizeof *grown);
    grown[n] = id;
    return grown;
}

void *graph_keep(struct graph *graph, const void *bytes, size_t n)
{
    void *copy = arena_alloc(&graph->memory, n ? n : 1);

    if (copy && n)
        memcpy(copy, bytes, n);
    return copy;
}

/* Adds values for n outputs of a node, starting with output `first`. */
static enum assay_status node_make_outputs(struct graph *graph, size_t node,
                                           size_t first, size_t n,
                                           uint32_t *outputs)
{
    struct value *moved =
        vec_reserve(graph->values, &graph->values_capacity, graph->n_values + n,
                    sizeof *graph->values);

    if (!moved)
        return ASSAY_NOMEM;
    graph->values = moved;
    for (size_t i = 0; i < n; i++) {
        outputs[i] = (uint32_t)graph->n_values;
        graph->values[graph->n_values++] =
            (struct value){.kind = VALUE_COMPUTED,
                           .dtype = DTYPE_F32,
                           .name = "",
                           .producer = (uint32_t)node,
                           .output = (int)(first + i),
                           .scope = GRAPH_NONE};
    }
    return ASSAY_OK;
}

enum assay_status graph_node_add(struct graph *graph,
                                 const struct node_description *description,
                                 uint32_t *outputs, struct error *err)
{
    const struct op_class *op = description->op;
    struct node *moved = vec_reserve(graph->nodes, &graph->nodes_capacity,
                                     graph->n_nodes + 1, sizeof *graph->nodes);
    struct node node = {
        .op = op,
        .scope = description->scope,
        .attrs =
            arena_alloc(&graph->memory, op->attrs_bytes ? op->attrs_bytes : 1),
        .name = arena_strdup(&graph->memory,
                             description->name ? description->name : ""),
        .inputs =
            graph_keep(graph, description->inputs,
                       description->n_inputs * sizeof *description->inputs),
        .n_inputs = description->n_inputs,
        .n_outputs = description->n_outputs,
        .bodies =
            graph_keep(graph, description->bodies,
                       description->n_bodies * sizeof *description->bodies),
        .n_bodies = description->n_bodies,
    };

    if (moved)
        graph->nodes = moved;
    if (!moved || !node.attrs || !node.name || !node.inputs || !node.bodies ||
        node_make_outputs(graph, graph->n_nodes, 0, node.n_outputs, outputs))
        return error_nomem(err, sizeof node, "the nodes of a model");
    node.outputs = graph_keep(graph, outputs, node.n_outputs * sizeof *outputs);
    if (!node.outputs)
        return error_nomem(err, sizeof node, "the nodes of a model");
    if (!description->attrs)
        memset(node.attrs, 0, op->attrs_bytes);
    else if (op->attrs_bytes)
        memcpy(node.attrs, description->attrs, op->attrs_bytes);
    graph->nodes[graph->n_nodes++] = node;
    for (size_t i = 0; i < node.n_inputs; i++)
        value_use(graph, node.inputs[i], 1);
    return ASSAY_OK;
}

size_t graph_node_count(const struct graph *graph)
{
    return graph->n_nodes;
}

const struct node *graph_node(const struct graph *graph, size_t i)
{
    return &graph->nodes[i];
}

struct node *graph_node_edit(struct graph *graph, size_t i)
{
    return &graph->nodes[i];
}

bool dtype_fits_f32(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32:
    case DTYPE_F64:
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_I8:
    case DTYPE_U8:
    case DTYPE_I16:
    case DTYPE_U16:
    case DTYPE_F8E4M3FN:
    case DTYPE_F8E4M3FNUZ:
    case DTYPE_F8E5M2:
    case DTYPE_F8E5M2FNUZ:
    case DTYPE_F8E8M0:
    case DTYPE_F4E2M1:
    case DTYPE_I4:
    case DTYPE_U4:
    case DTYPE_I2:
    case DTYPE_U2:
        return true;
    case DTYPE_I32:
    case DTYPE_U32:
    case DTYPE_I64:
    case DTYPE_U64:
    case DTYPE_BOOL:
    case DTYPE_SEQUENCE:
        break;
    }
    return false;
}

enum assay_status node_infer(const struct node *node,
                             const struct tensor *const *inputs,
                             struct tensor *outputs, struct error *err)
{
    const struct tensor *as_f32[OP_MAX_VALUES];
    struct tensor copies[OP_MAX_VALUES];
    enum assay_status st;

    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->dtype == DTYPE_SEQUENCE)
            return error_set(err, ASSAY_BAD_INPUT,
                             "input %zu is a sequence or text, which %s does "
                             "not take",
                             i, node->op->name);
    }
    if (!node->op->is_f32 || node->n_inputs > OP_MAX_VALUES)
        return node->op->infer(node, inputs, outputs, err);
    for (size_t i = 0; i < node->n_inputs; i++) {
        as_f32[i] = NULL;
        if (!inputs[i])
            continue;
        if (!dtype_fits_f32(inputs[i]->dtype))
            return error_set(err, ASSAY_UNSUPPORTED,
                             "input %zu is %s, which does not fit float32", i,
                             dtype_name(inputs[i]->dtype));
        copies[i] = *inputs[i];
        copies[i].dtype = DTYPE_F32;
        as_f32[i] = &copies[i];
    }
    st = node->op->infer(node, as_f32, outputs, err);
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        if (outputs[i].dtype == DTYPE_F32)
            outputs[i].dtype = inputs[0]->dtype;
    }
    return st;
}

enum assay_status graph_input_append(struct graph *graph, size_t node,
                                     uint32_t value, struct error *err)
{
    struct node *to = &graph->nodes[node];
    uint32_t *grown = graph_append_id(graph, to->inputs, to->n_inputs, value);

    if (!grown)
        return error_nomem(err, sizeof *grown, "the nodes of a model");
    to->inputs = grown;
    to->n_inputs++;
    value_use(graph, value, 1);
    return ASSAY_OK;
}

void graph_input_set(struct graph *graph, size_t node, size_t input,
                     uint32_t value)
{
    uint32_t *place = &graph->nodes[node].inputs[input];

    value_use(graph, *place, -1);
    value_use(graph, value, 1);
    *place = value;
}

void graph_inputs_drop(struct graph *graph, size_t node)
{
    struct node *from = &graph->nodes[node];

    while (from->n_inputs)
        value_use(graph, from->inputs[--from->n_inputs], -1);
}

enum assay_status graph_output_append(struct graph *graph, size_t node,
                                      uint32_t *value, struct error *err)
{
    struct node *to = &graph->nodes[node];
    uint32_t *grown = NULL;

    if (!node_make_outputs(graph, node, to->n_outputs, 1, value))
        grown = graph_append_id(graph, to->outputs, to->n_outputs, *value);
    if (!grown)
        return error_nomem(err, sizeof *grown, "the nodes of a model");
    to->outputs = grown;
    to->n_outputs++;
    return ASSAY_OK;
}

enum assay_status graph_node_become(struct graph *graph, size_t node,
                                    const struct op_class *op,
                                    const void *attrs, struct error *err)
{
    void *copy = graph_keep(graph, attrs, op->attrs_bytes);

    if (!copy)
        return error_nomem(err, op->attrs_bytes, "the nodes of a model");
    graph->nodes[node].op = op;
    graph->nodes[node].attrs = copy;
    return ASSAY_OK;
}

size_t graph_use_count(const struct graph *graph, uint32_t value)
{
    return graph->values[value].n_uses;
}

/* Only nodes after the one that makes a value read it. */
void graph_replace_uses(struct graph *graph, uint32_t from, uint32_t to)
{
    const struct value *old = &graph->values[from];
    size_t i = old->producer == GRAPH_NONE ? 0 : old->producer + (size_t)1;

    for (; old->n_uses && i < graph->n_nodes; i++) {
        for (size_t k = 0; k < graph->nodes[i].n_inputs; k++) {
            if (graph->nodes[i].inputs[k] == from)
                graph_input_set(graph, i, k, to);
        }
    }
    for (i = 0; old->n_uses && i < graph->n_outputs; i++) {
        if (graph->outputs[i].value == from) {
            graph->outputs[i].value = to;
            value_use(graph, from, -1);
            value_use(graph, to, 1);
        }
    }
}

enum assay_status graph_stand_for(struct graph *graph, size_t node,
                                  uint32_t scope, struct error *err)
{
    struct node *to = &graph->nodes[node];
    uint32_t *grown =
        graph_append_id(graph, to->stands_for, to->n_stands_for, scope);

    if (!grown)
        return error_nomem(err, sizeof *grown, "the fused modules of a model");
    to->stands_for = grown;
    to->n_stands_for++;
    return ASSAY_OK;
}

void node_release(struct node *node)
{
    for (size_t i = 0; i < node->n_bodies; i++)
        graph_free(node->bodies[i]);
    node->n_bodies = 0;
}

static bool node_is_used(const struct graph *graph, const struct node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (graph->values[node->outputs[i]].n_uses)
            return true;
    }
    return false;
}

/* Moves a node, and updates the producer of its outputs. */
static void graph_move_node(struct graph *graph, size_t from, size_t to)
{
    struct node *node = &graph->nodes[to];

    *node = graph->nodes[from];
    for (size_t i = 0; i < node->n_outputs; i++)
        graph->values[node->outputs[i]].producer = (uint32_t)to;
}

/* ---- order -------------------------------------------------------------- */

/* A node that waits for what it reads. */
struct waiting {
    uint32_t node;
    size_t next; /* input to look at */
};

struct sorting {
    struct waiting *stack;
    struct node *order;
    bool *is_seen;
    size_t depth, n;
};

/* Puts a node on the stack unless it was there before. */
static void sort_push(struct sorting *sorting, uint32_t node)
{
    if (sorting->is_seen[node])
        return;
    sorting->is_seen[node] = true;
    sorting->stack[sorting->depth++] = (struct waiting){.node = node};
}

static void sort_from(const struct graph *graph, struct sorting *sorting,
                      uint32_t first)
{
    sort_push(sorting, first);
    while (sorting->depth) {
        struct waiting *top = &sorting->stack[sorting->depth - 1];
        const struct node *node = &graph->nodes[top->node];
        uint32_t value;

        if (top->next == node->n_inputs) {
            sorting->order[sorting->n++] = *node;
            sorting->depth--;
            continue;
        }
        value = node->inputs[top->next++];
        if (value != GRAPH_NONE && graph->values[value].kind == VALUE_COMPUTED)
            sort_push(sorting, graph->values[value].producer);
    }
}

enum assay_status graph_sort(struct graph *graph, struct error *err)
{
    size_t n = graph->n_nodes;
    struct sorting sorting = {.stack = mem_array(n, sizeof *sorting.stack),
                              .order = mem_array(n, sizeof *sorting.order),
                              .is_seen = mem_array(n, sizeof *sorting.is_seen)};
    enum assay_status st = ASSAY_OK;

    if (!sorting.stack || !sorting.order || !sorting.is_seen)
        st = error_nomem(err, n * sizeof *sorting.order, "the order of nodes");
    for (uint32_t i = 0; !st && i < n; i++)
        sort_from(graph, &sorting, i);
    for (size_t i = 0; !st && i < n; i++) {
        graph->nodes[i] = sorting.order[i];
        for (size_t k = 0; k < graph->nodes[i].n_outputs; k++)
            graph->values[graph->nodes[i].outputs[k]].producer = (uint32_t)i;
    }
    mem_free(sorting.stack);
    mem_free(sorting.order);
    mem_free(sorting.is_seen);
    return st;
}

/* Starts at the end, so that nodes that only fed removed ones go too. */
void graph_sweep(struct graph *graph)
{
    size_t n = graph->n_nodes;

    for (size_t i = graph->n_nodes; i-- > 0;) {
        if (node_is_used(graph, &graph->nodes[i])) {
            graph_move_node(graph, i, --n);
        } else {
            graph_inputs_drop(graph, i);
            node_release(&graph->nodes[i]);
        }
    }
    /* The kept nodes are at the end now. */
    graph->n_nodes -= n;
    for (size_t i = 0; n && i < graph->n_nodes; i++)
        graph_move_node(graph, n + i, i);
}

static enum assay_status graph_check_node(const struct graph *graph, size_t at,
                                          struct error *err)
{
    const struct node *node = &graph->nodes[at];

    if (node->n_inputs < node->op->min_inputs ||
        node->n_inputs > node->op->max_inputs ||
        node->n_outputs < node->op->min_outputs ||
        node->n_outputs > node->op->max_outputs)
        return error_set(err, ASSAY_BAD_INPUT,
                         "node %zu (%s) has %zu inputs and %zu outputs", at,
                         node->op->name, node->n_inputs, node->n_outputs);
    for (size_t k = 0; k < node->n_inputs; k++) {
        uint32_t input = node->inputs[k];

        if (input == GRAPH_NONE)
            continue;
        if (input >= graph->n_values ||
            (graph->values[input].kind == VALUE_COMPUTED &&
             graph->values[input].producer >= at))
            return error_set(err, ASSAY_BAD_INPUT,
                             "node %zu (%s) reads input %zu before it is made",
                             at, node->op->name, k);
    }
    return ASSAY_OK;
}

enum assay_status graph_check(const struct graph *graph, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph->n_nodes; i++)
        st = graph_check_node(graph, i, err);
    for (size_t i = 0; !st && i < graph->n_outputs; i++) {
        if (graph->outputs[i].value >= graph->n_values)
            st = error_set(err, ASSAY_BAD_INPUT, "output %s does not exist",
                           graph->outputs[i].name);
    }
    return st;
}
