/* engine/tape.c - see tape.h. */
#include "engine/tape.h"

#include "base/mem.h"

#include <string.h>

/* ---- which way gradients go ---------------------------------------------- */

static bool tape_is_trained(const struct value *value)
{
    return value->kind == VALUE_PARAMETER && value->dtype == DTYPE_F32 &&
           !value->is_frozen;
}

static bool has_backward(const struct node *node)
{
    return node->op->is_view || node->op->backward;
}

/* Bits of the inputs that a gradient passes to. */
static uint64_t find_wanted(const struct tape *tape, const struct node *node)
{
    uint64_t wanted = 0;

    for (size_t i = 0; has_backward(node) && i < node->n_inputs; i++) {
        if (node->inputs[i] != GRAPH_NONE &&
            tape->values[node->inputs[i]].has_gradient)
            wanted |= UINT64_C(1) << i;
    }
    return wanted;
}

/* From the parameters on: what depends on one that is trained. */
static void find_trained(struct tape *tape, const struct graph *graph)
{
    for (uint32_t i = 0; i < tape->n_values; i++)
        tape->values[i].has_gradient = tape_is_trained(graph_value(graph, i));
    for (size_t i = 0; i < tape->n_nodes; i++) {
        const struct node *node = graph_node(graph, i);

        tape->nodes[i].wanted = find_wanted(tape, node);
        for (size_t k = 0; tape->nodes[i].wanted && k < node->n_outputs; k++)
            tape->values[node->outputs[k]].has_gradient = true;
    }
}

/* From the outputs back: nodes that reach none are not asked. */
static enum assay_status
drop_useless(struct tape *tape, const struct graph *graph, struct error *err)
{
    bool *reaches = mem_array(tape->n_values, sizeof *reaches);

    if (!reaches)
        return error_nomem(err, tape->n_values, "a tape");
    for (size_t i = 0; i < graph_output_count(graph); i++)
        reaches[graph_output_at(graph, i, NULL)] = true;
    for (size_t i = tape->n_nodes; i-- > 0;) {
        const struct node *node = graph_node(graph, i);
        bool is_useful = false;

        for (size_t k = 0; k < node->n_outputs; k++)
            is_useful |= reaches[node->outputs[k]];
        if (!is_useful)
            tape->nodes[i].wanted = 0;
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (tape->nodes[i].wanted >> k & 1)
                reaches[node->inputs[k]] = true;
        }
    }
    mem_free(reaches);
    return ASSAY_OK;
}

/* ---- what is kept for it ------------------------------------------------- */

static struct op_reads find_reads(const struct backend *backend,
                                  const struct node *node, uint64_t wanted)
{
    const struct backend_class *class = backend->class;

    if (!wanted || node->op->is_view)
        return (struct op_reads){0};
    if (class->can_backward && class->can_backward(backend, node))
        return class->backward_reads(backend, node, wanted);
    if (node->op->backward_reads)
        return node->op->backward_reads(node, wanted);
    return (struct op_reads){0};
}

typedef void visit_value(struct tape_value *value);

static void visit_inputs(struct tape *tape, const struct node *node,
                         uint64_t which, visit_value *visit)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (which >> i & 1 && node->inputs[i] != GRAPH_NONE)
            visit(&tape->values[node->inputs[i]]);
    }
}

static void add_use(struct tape_value *value)
{
    value->uses++;
}

static void count_reads(struct tape *tape, const struct engine *engine)
{
    for (size_t i = 0; i < tape->n_nodes; i++) {
        const struct node *node = graph_node(engine->graph, i);
        struct tape_node *entry = &tape->nodes[i];

        entry->reads = find_reads(engine->backend, node, entry->wanted);
        visit_inputs(tape, node, entry->reads.inputs, add_use);
        for (size_t k = 0; k < node->n_outputs; k++) {
            if (entry->reads.outputs >> k & 1)
                tape->values[node->outputs[k]].uses++;
        }
    }
}

/* ---- what is dropped and made again -------------------------------------- */

/* Computed in this graph, by a node. */
static bool is_made(const struct graph *graph, uint32_t value)
{
    return value != GRAPH_NONE &&
           graph_value(graph, value)->producer != GRAPH_NONE;
}

static bool is_kept(const struct tape *tape, uint32_t value)
{
    return tape->values[value].uses && !tape->values[value].is_dropped;
}

/* How many cheap nodes may stand between a dropped value and what it is made
 * from: activation, addition, normalisation, and one to spare. */
enum { CHEAP_DEPTH = 4 };

/* How many values in a row may be dropped. The processors make few again: of a
 * row of residual blocks every other output is kept. A device, which has less
 * memory and takes a thousandth of a step for a map, drops them all. */
static unsigned longest_row(const struct engine *engine)
{
    enum { on_host = 1, on_device = 16 };

    return engine_is_far(engine) ? on_device : on_host;
}

/* How many dropped values in a row end with this one if it is made, by cheap
 * nodes alone, from others that are kept or dropped; 0: it cannot be. */
static unsigned cheap_row(const struct tape *tape, const struct graph *graph,
                          uint32_t value, int depth)
{
    const struct node *node =
        graph_node(graph, graph_value(graph, value)->producer);
    unsigned row = 0;

    if (!node->op->is_cheap || depth == 0)
        return 0;
    for (size_t i = 0; i < node->n_inputs; i++) {
        uint32_t source = node->inputs[i];
        unsigned more = 1;

        if (!is_made(graph, source))
            continue;
        if (tape->values[source].is_dropped)
            more = tape->values[source].row + 1;
        else if (!is_kept(tape, source))
            more = cheap_row(tape, graph, source, depth - 1);
        if (!more)
            return 0;
        row = more > row ? more : row;
    }
    return row;
}

static bool is_cheap_to_make(const struct tape *tape, const struct graph *graph,
                             uint32_t value)
{
    unsigned row = cheap_row(tape, graph, value, CHEAP_DEPTH);

    return row && row <= tape->longest_row;
}

static void drop_value(struct tape *tape, const struct graph *graph,
                       uint32_t value)
{
    tape->values[value].row = cheap_row(tape, graph, value, CHEAP_DEPTH);
    tape->values[value].is_dropped = true;
}

static void drop_cheap(struct tape *tape, const struct graph *graph)
{
    for (uint32_t i = 0; i < tape->n_values; i++) {
        if (tape->values[i].uses && is_made(graph, i) &&
            is_cheap_to_make(tape, graph, i))
            drop_value(tape, graph, i);
    }
}

static bool is_under(const struct graph *graph, uint32_t scope,
                     const char *path)
{
    for (; scope != GRAPH_NONE; scope = graph_scope(graph, scope)->parent) {
        if (!strcmp(graph_scope(graph, scope)->path, path))
            return true;
    }
    return false;
}

/* Whether a node outside of the module reads the value, or it is an output:
 * those are kept, or nothing would be won. */
static bool leaves_module(const struct graph *graph, uint32_t value,
                          const char *path)
{
    for (size_t i = graph_value(graph, value)->producer;
         i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] == value && !is_under(graph, node->scope, path))
                return true;
        }
    }
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        if (graph_output_at(graph, i, NULL) == value)
            return true;
    }
    return false;
}

static enum assay_status drop_module(struct tape *tape,
                                     const struct graph *graph,
                                     const char *path, struct error *err)
{
    bool is_known = false;

    for (size_t i = 0; i < tape->n_nodes; i++) {
        const struct node *node = graph_node(graph, i);

        if (!is_under(graph, node->scope, path))
            continue;
        is_known = true;
        tape->nodes[i].is_chosen = true;
        for (size_t k = 0; k < node->n_outputs; k++) {
            struct tape_value *value = &tape->values[node->outputs[k]];

            if (leaves_module(graph, node->outputs[k], path))
                continue;
            value->is_spared =
                value->uses && !value->is_dropped && !node->op->is_view;
            value->is_dropped = true;
            value->row = tape->longest_row; /* nothing more is made from it */
        }
    }
    if (!is_known)
        return error_set(err, ASSAY_BAD_USAGE,
                         "there is no module '%.100s' to recompute; 'assay "
                         "layers' names them",
                         path);
    return ASSAY_OK;
}

/* Whether an input of a node that runs again is made again too: it is dropped
 * already, or nobody keeps it and it is cheap. */
static bool is_remade(struct tape *tape, const struct graph *graph,
                      uint32_t value)
{
    struct tape_value *entry = &tape->values[value];

    if (!entry->is_dropped && !entry->uses && is_made(graph, value) &&
        is_cheap_to_make(tape, graph, value))
        drop_value(tape, graph, value);
    return entry->is_dropped;
}

static bool runs_again(const struct tape *tape, const struct node *node)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (tape->values[node->outputs[i]].is_dropped)
            return true;
    }
    return false;
}

/* Every node that may run again keeps what it would need. */
static void hold_sources(struct tape *tape, const struct graph *graph)
{
    for (size_t i = tape->n_nodes; i-- > 0;) {
        const struct node *node = graph_node(graph, i);
        uint64_t *holds = &tape->nodes[i].holds;

        for (size_t k = 0; runs_again(tape, node) && k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE &&
                !is_remade(tape, graph, node->inputs[k]))
                *holds |= UINT64_C(1) << k;
        }
        visit_inputs(tape, node, *holds, add_use);
    }
}

/* ---- the tape itself ------------------------------------------------------
 */

static enum assay_status plan(struct tape *tape, const struct engine *engine,
                              const char *const *recompute, struct error *err)
{
    enum assay_status st;

    find_trained(tape, engine->graph);
    st = drop_useless(tape, engine->graph, err);
    if (st)
        return st;
    count_reads(tape, engine);
    drop_cheap(tape, engine->graph);
    for (; !st && recompute && *recompute; recompute++)
        st = drop_module(tape, engine->graph, *recompute, err);
    hold_sources(tape, engine->graph);
    return st;
}

enum assay_status tape_new(const struct engine *engine,
                           const char *const *recompute, struct tape **out,
                           struct error *err)
{
    size_t n_nodes = graph_node_count(engine->graph);
    size_t n_values = graph_value_count(engine->graph);
    struct tape *tape = mem_zalloc(sizeof *tape);
    enum assay_status st;

    *out = NULL;
    if (!tape)
        return error_nomem(err, sizeof *tape, "a tape");
    tape->nodes = mem_array(n_nodes, sizeof *tape->nodes);
    tape->values = mem_array(n_values, sizeof *tape->values);
    tape->is_marked = mem_array(n_nodes, sizeof *tape->is_marked);
    if (!tape->nodes || !tape->values || !tape->is_marked) {
        tape_free(tape);
        return error_nomem(err, n_values * sizeof *tape->values, "a tape");
    }
    tape->n_nodes = n_nodes;
    tape->n_values = n_values;
    tape->longest_row = longest_row(engine);
    for (uint32_t i = 0; i < n_values; i++) {
        const struct value *value = graph_value(engine->graph, i);

        tape->values[i].form =
            (struct tensor){.dtype = value->dtype, .shape = value->shape};
    }
    st = plan(tape, engine, recompute, err);
    if (st) {
        tape_free(tape);
        return st;
    }
    *out = tape;
    return ASSAY_OK;
}

static void tape_release_all(struct tape *tape)
{
    for (size_t i = 0; i < tape->n_values; i++)
        tensor_release(&tape->values[i].gradient);
    for (size_t i = 0; i < tape->n_nodes; i++)
        tensor_release(&tape->nodes[i].saved);
}

void tape_free(struct tape *tape)
{
    if (!tape)
        return;
    tape_release_all(tape);
    mem_free(tape->nodes);
    mem_free(tape->values);
    mem_free(tape->is_marked);
    mem_free(tape);
}

void tape_rewind(struct tape *tape)
{
    tape_release_all(tape);
    for (size_t i = 0; i < tape->n_values; i++)
        tape->values[i].left = tape->values[i].uses;
    tape->has_run = false;
    tape->recomputed = (struct engine_recomputed){0};
}

void tape_note(struct tape *tape, uint32_t value, const struct tensor *tensor)
{
    tape->values[value].form =
        (struct tensor){.dtype = tensor->dtype, .shape = tensor->shape};
}

static void find_losses(struct tape *tape, const struct graph *graph)
{
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        struct tape_value *value =
            &tape->values[graph_output_at(graph, i, NULL)];

        value->is_loss = value->has_gradient && value->form.shape.rank == 0 &&
                         value->form.dtype == DTYPE_F32;
    }
}

/* A layout of 16 bits takes less than its type says. */
static size_t stored_bytes(const struct tensor *made)
{
    size_t bytes = tensor_bytes(made), taken = buffer_bytes(made->buffer);

    return taken < bytes ? taken : bytes;
}

/* A view that is kept keeps the memory of the value that it is one of: it is
 * counted for the node that made that, unless it is kept itself. */
static void count_view(struct engine *engine, const struct node *view)
{
    const struct graph *graph = engine->graph;
    struct tape *tape = engine->tape;
    uint32_t value = view->inputs[0],
             made = graph_value(graph, value)->producer;

    while (made != GRAPH_NONE && graph_node(graph, made)->op->is_view) {
        value = graph_node(graph, made)->inputs[0];
        made = graph_value(graph, value)->producer;
    }
    if (made != GRAPH_NONE && tape_keeps(tape, view->outputs[0]) &&
        engine->values[view->outputs[0]].made.buffer &&
        !tape_keeps(tape, value))
        tape->nodes[made].kept_bytes +=
            stored_bytes(&engine->values[view->outputs[0]].made);
}

void tape_count(struct engine *engine)
{
    struct tape *tape = engine->tape;

    find_losses(tape, engine->graph);
    for (size_t i = 0; i < tape->n_nodes; i++) {
        const struct node *node = graph_node(engine->graph, i);
        struct tape_node *entry = &tape->nodes[i];

        entry->kept_bytes =
            entry->saved.buffer ? tensor_bytes(&entry->saved) : 0;
        for (size_t k = 0; !node->op->is_view && k < node->n_outputs; k++) {
            uint32_t value = node->outputs[k];

            if (tape_keeps(tape, value) && engine->values[value].made.buffer)
                entry->kept_bytes += stored_bytes(&engine->values[value].made);
            if (tape->values[value].is_spared)
                tape->recomputed.bytes +=
                    tensor_bytes(&tape->values[value].form);
        }
        if (node->op->is_view)
            count_view(engine, node);
    }
    tape->has_run = true;
}
