/* engine/moves.c - see engine_internal.h: a value moves only where a kernel
 * that needs it cannot reach it, and at most once each way. */
#include "engine/engine_internal.h"

#include <inttypes.h>

const struct tensor *engine_value(const struct engine *engine, uint32_t value)
{
    if (value == GRAPH_NONE)
        return NULL;
    if (engine->values[value].made.buffer)
        return &engine->values[value].made;
    return &graph_value(engine->graph, value)->data;
}

/* The copy of the graph's data belongs to all runs. */
void engine_drop(struct engine *engine, uint32_t value)
{
    struct engine_value *entry = &engine->values[value];

    if (entry->made.buffer)
        tensor_release(&entry->copy);
    tensor_release(&entry->made);
}

const struct backend_math *engine_math(const struct engine *engine,
                                       enum place place)
{
    return place == PLACE_DEVICE ? backend_math(engine->backend) : &host_math;
}

/* ---- tensors ------------------------------------------------------------- */

/* `made` takes the place and the owner of the tensor. */
static void engine_replace(struct tensor *tensor, struct tensor made)
{
    buffer_set_owner(made.buffer, buffer_owner(tensor->buffer));
    tensor_release(tensor);
    *tensor = made;
}

enum assay_status engine_make_dense(struct engine *engine,
                                    struct tensor *tensor, struct error *err)
{
    struct op_context context = engine->context;
    struct tensor dense;
    enum assay_status st;

    if (!tensor->layout)
        return ASSAY_OK;
    context.pool = engine->pools[PLACE_DEVICE];
    st = engine->backend->class->to_dense(engine->backend, &context, tensor,
                                          &dense, err);
    if (!st)
        engine_replace(tensor, dense);
    return st;
}

enum assay_status engine_move(struct engine *engine, struct tensor *tensor,
                              enum place place, struct error *err)
{
    struct tensor moved;
    enum assay_status st;

    if (engine_is_in(engine, tensor, place))
        return ASSAY_OK;
    st = engine_make_dense(engine, tensor, err);
    if (!st)
        st = tensor_copy(engine->pools[place], tensor, &moved, err);
    if (!st)
        engine_replace(tensor, moved);
    return st;
}

/* ---- values -------------------------------------------------------------- */

/* The graph's data as the device has changed it. */
static enum assay_status engine_store(struct engine *engine, uint32_t value,
                                      struct error *err)
{
    struct engine_value *entry = &engine->values[value];
    enum assay_status st;

    if (!entry->is_ahead)
        return ASSAY_OK;
    st = tensor_assign(&graph_value(engine->graph, value)->data, &entry->copy,
                       err);
    entry->is_ahead = entry->is_ahead && st;
    return st;
}

enum assay_status engine_store_parameters(struct engine *engine,
                                          struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(engine->graph); i++)
        st = engine_store(engine, i, err);
    return st;
}

static enum assay_status engine_copy_value(struct engine *engine,
                                           uint32_t value, enum place place,
                                           uint32_t node, struct error *err)
{
    struct engine_value *entry = &engine->values[value];
    const struct tensor *from = &graph_value(engine->graph, value)->data;
    struct pool *pool = engine->pools[place];
    uint32_t owner = pool_set_owner(pool, OWNER_WEIGHTS);
    enum assay_status st = ASSAY_OK;

    if (entry->made.buffer) {
        st = engine_make_dense(engine, &entry->made, err);
        from = &entry->made;
        pool_set_owner(pool, buffer_owner(from->buffer));
    }
    if (!st)
        st = tensor_copy(pool, from, &entry->copy, err);
    pool_set_owner(pool, owner);
    if (st)
        return st;
    entry->moved_bytes[place] += tensor_bytes(from);
    entry->moved_for[place] = node;
    entry->moved_within[place] |= node != GRAPH_NONE;
    return ASSAY_OK;
}

enum assay_status engine_bring(struct engine *engine, uint32_t value,
                               enum place place, uint32_t node,
                               const struct tensor **out, struct error *err)
{
    const struct tensor *there = engine_value(engine, value);
    enum assay_status st = ASSAY_OK;

    *out = there;
    if (!there || !engine_is_far(engine))
        return ASSAY_OK;
    if (engine_is_in(engine, there, place))
        return place == PLACE_HOST && !engine->values[value].made.buffer
                   ? engine_store(engine, value, err)
                   : ASSAY_OK;
    if (!engine->values[value].copy.buffer)
        st = engine_copy_value(engine, value, place, node, err);
    *out = &engine->values[value].copy;
    return st;
}

enum assay_status engine_bring_inputs(struct engine *engine, size_t at,
                                      enum place place,
                                      const struct tensor **inputs,
                                      struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    const struct op_class *op = node->op;
    bool looks_at_data = !op->reads_shapes && !op->passes_inputs;
    enum assay_status st = ASSAY_OK;

    if (!engine_is_far(engine))
        return ASSAY_OK;
    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        bool is_number = op_has_input(op->host_inputs, i);

        if (node->inputs[i] != GRAPH_NONE && (is_number || looks_at_data))
            st = engine_bring(engine, node->inputs[i],
                              is_number ? PLACE_HOST : place, (uint32_t)at,
                              &inputs[i], err);
    }
    return st;
}

enum assay_status engine_parameter(struct engine *engine, uint32_t value,
                                   const struct tensor **out, struct error *err)
{
    enum assay_status st =
        engine_bring(engine, value, PLACE_DEVICE, GRAPH_NONE, out, err);

    engine->values[value].is_ahead = !st && engine_is_far(engine);
    return st;
}

/* Copies are of what the data was. */
void engine_parameters_changed(struct engine *engine)
{
    const struct backend_class *class = engine->backend->class;

    engine_passes_free(engine);
    engine_replays_free(engine); /* they read the copies */
    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++) {
        struct engine_value *entry = &engine->values[i];

        if (!entry->made.buffer)
            tensor_release(&entry->copy);
        entry->is_ahead = false;
    }
    if (class->parameters_changed)
        class->parameters_changed(engine->backend);
}

/* ---- outputs ------------------------------------------------------------- */

enum assay_status engine_renew(struct engine *engine,
                               const struct tensor *outputs, struct error *err)
{
    size_t n = engine->renews ? graph_output_count(engine->graph) : 0;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < n; i++) {
        struct engine_value *entry = &engine->values[engine->renews[i]];

        if (engine->renews[i] == GRAPH_NONE)
            continue;
        if (engine_is_far(engine) &&
            engine_is_in(engine, &outputs[i], PLACE_DEVICE)) {
            tensor_release(&entry->copy);
            entry->copy = tensor_share(&outputs[i]);
            buffer_set_owner(entry->copy.buffer, OWNER_WEIGHTS);
            entry->is_ahead = true;
        } else {
            tensor_release(&entry->copy);
            entry->is_ahead = false;
            st = tensor_assign(
                &graph_value(engine->graph, engine->renews[i])->data,
                &outputs[i], err);
        }
    }
    return st;
}

enum assay_status engine_to_host(struct engine *engine,
                                 const struct tensor *tensor,
                                 struct tensor *out, struct error *err)
{
    enum assay_status st;

    *out = tensor_share(tensor);
    st = engine_make_dense(engine, out, err);
    if (!st)
        st = engine_move(engine, out, PLACE_HOST, err);
    if (st)
        tensor_release(out);
    return st;
}

/* ---- what moved ---------------------------------------------------------- */

static void explain_move(const struct engine *engine, uint32_t value,
                         enum place place, struct sink *sink)
{
    static const char *const ways[N_PLACES] = {
        [PLACE_HOST] = "to the host", [PLACE_DEVICE] = "to the device"};
    const struct engine_value *entry = &engine->values[value];
    const struct graph *graph = engine->graph;
    uint32_t producer = graph_value(graph, value)->producer;
    uint32_t reader = entry->moved_for[place];
    char made[ENGINE_NODE_TEXT] = "an input", read[ENGINE_NODE_TEXT] = "";

    if (producer != GRAPH_NONE)
        engine_node_text(engine, graph_node(graph, producer), made,
                         sizeof made);
    if (reader != GRAPH_NONE)
        engine_node_text(engine, graph_node(graph, reader), read, sizeof read);
    sink_printf(sink, "  %s: %zu bytes %s, for %s\n", made,
                entry->moved_bytes[place], ways[place],
                read[0] ? read : "the outputs");
}

void engine_explain_moves(const struct engine *engine, struct sink *sink)
{
    bool has_any = false;

    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++) {
        const struct value *value = graph_value(engine->graph, i);

        for (int k = 0; k < N_PLACES; k++) {
            if (!engine->values[i].moved_bytes[k] ||
                (value->kind != VALUE_COMPUTED && value->kind != VALUE_INPUT))
                continue;
            if (!has_any)
                sink_puts(sink, "\nmoves\n");
            has_any = true;
            explain_move(engine, i, (enum place)k, sink);
        }
    }
}
