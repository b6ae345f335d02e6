/* engine/engine.c - see engine.h. */
#include "engine/engine.h"

#include "base/clock.h"
#include "base/file_guard.h"
#include "base/mem.h"
#include "engine/engine_internal.h"
#include "engine/tape.h"
#include "run/device_balance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum assay_status make_tables(struct engine *engine, struct error *err)
{
    size_t n_values = graph_value_count(engine->graph);
    size_t n_nodes = graph_node_count(engine->graph);

    engine->values = mem_array(n_values, sizeof *engine->values);
    engine->costs = mem_array(n_nodes, sizeof *engine->costs);
    engine->reports = mem_array(n_nodes, sizeof *engine->reports);
    if (!engine->values || !engine->costs || !engine->reports)
        return error_nomem(err, n_values * sizeof *engine->values, "an engine");
    return ASSAY_OK;
}

static enum assay_status count_uses(struct engine *engine, size_t most,
                                    struct error *err)
{
    const struct graph *graph = engine->graph;

    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->n_inputs > most || node->n_outputs > most)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "node %zu (%s) has %zu inputs and %zu outputs; "
                             "%zu is the most",
                             i, node->op->name, node->n_inputs, node->n_outputs,
                             most);
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE)
                engine->values[node->inputs[k]].uses++;
        }
    }
    for (size_t i = 0; i < graph_output_count(graph); i++)
        engine->values[graph_output_at(graph, i, NULL)].uses++;
    return ASSAY_OK;
}

/* In training, outputs that have the name of a buffer renew it. */
static enum assay_status find_renewed(struct engine *engine, struct error *err)
{
    const struct graph *graph = engine->graph;
    size_t n = graph_output_count(graph);

    engine->renews = mem_array(n, sizeof *engine->renews);
    if (!engine->renews)
        return error_nomem(err, n * sizeof *engine->renews, "an engine");
    for (size_t i = 0; i < n; i++) {
        const char *name;
        uint32_t value;

        graph_output_at(graph, i, &name);
        value = graph_find_value(graph, name);
        engine->renews[i] =
            value != GRAPH_NONE &&
                    graph_value(graph, value)->kind == VALUE_BUFFER
                ? value
                : GRAPH_NONE;
    }
    return ASSAY_OK;
}

static enum assay_status make_backend(struct engine *engine,
                                      const struct engine_options *options,
                                      struct error *err)
{
    const struct device *device =
        options->device ? options->device : &device_portable;
    const struct backend_class *class = device->backend;
    enum assay_status st = ASSAY_OK;

    if (class->api_version != BACKEND_API_VERSION)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "backend %s speaks version %u of the interface, this "
                         "is %d",
                         class->name, class->api_version, BACKEND_API_VERSION);
    if (!device->space->is_host && !engine->pools[PLACE_DEVICE]) {
        st = pool_new_in(device->space, &engine->pools[PLACE_DEVICE], err);
        if (!st)
            pool_report(engine->pools[PLACE_DEVICE], true);
        if (!st && options->backend_options.is_training)
            pool_hold_nothing(engine->pools[PLACE_DEVICE]);
    } else if (!engine->pools[PLACE_DEVICE]) {
        engine->pools[PLACE_DEVICE] = engine->pools[PLACE_HOST];
    }
    if (!st)
        st = class->make(device, engine->graph, &options->backend_options,
                         &engine->backend, err);
    engine->context.multiply = class->multiply;
    return st;
}

static enum assay_status engine_make(struct engine *engine,
                                     const struct engine_options *options,
                                     struct error *err)
{
    enum assay_status st = graph_check(engine->graph, err);

    engine->context =
        (struct op_context){.pool = engine->pools[PLACE_HOST],
                            .n_threads = options->backend_options.n_threads};
    if (!st)
        st = make_tables(engine, err);
    if (!st)
        st = module_scopes_init(&engine->forward, engine->graph,
                                options->detail, err);
    if (!st)
        st = module_scopes_init(&engine->backward, engine->graph,
                                options->detail, err);
    if (!st)
        st =
            count_uses(engine,
                       options->backend_options.is_training ? ENGINE_MAX_TRAINED
                                                            : OP_MAX_VALUES,
                       err);
    if (!st)
        st = make_backend(engine, options, err);
    if (!st)
        st = engine_bodies_make(engine, options, err);
    if (!st)
        engine->may_replay = options->may_replay && engine_is_far(engine) &&
                             !options->backend_options.is_training &&
                             engine->backend->class->recording_begin;
    if (!st && options->backend_options.is_training)
        st = tape_new(engine, options->recompute, &engine->tape, err);
    if (!st && options->backend_options.is_training)
        st = find_renewed(engine, err);
    if (!st)
        engine_pictures_init(engine);
    return st;
}

static enum assay_status engine_start(struct engine filled,
                                      const struct engine_options *options,
                                      struct engine **out, struct error *err)
{
    struct engine *engine = mem_alloc(sizeof *engine);
    enum assay_status st;

    *out = NULL;
    if (!engine)
        return error_nomem(err, sizeof *engine, "an engine");
    *engine = filled;
    st = engine_make(engine, options, err);
    if (st) {
        engine_free(engine);
        return st;
    }
    *out = engine;
    return ASSAY_OK;
}

enum assay_status engine_new(const struct graph *graph, struct pool *pool,
                             const struct engine_options *options,
                             struct engine **out, struct error *err)
{
    return engine_start((struct engine){.graph = graph, .pools = {pool}},
                        options, out, err);
}

enum assay_status engine_new_inside(const struct graph *graph,
                                    const struct engine *around,
                                    const struct engine_options *options,
                                    struct engine **out, struct error *err)
{
    return engine_start((struct engine){.graph = graph,
                                        .is_body = true,
                                        .pools = {around->pools[PLACE_HOST],
                                                  around->pools[PLACE_DEVICE]}},
                        options, out, err);
}

void engine_forget_values(struct engine *engine)
{
    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++)
        engine_drop(engine, i);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    if (engine->values)
        engine_forget_values(engine);
    engine_passes_free(engine);
    if (engine->backend)
        engine_replays_free(engine);
    engine_unsend(engine);
    for (uint32_t i = 0; engine->values && i < graph_value_count(engine->graph);
         i++)
        tensor_release(&engine->values[i].copy);
    tape_free(engine->tape);
    if (engine->backend)
        engine->backend->class->free(engine->backend);
    engine_bodies_free(engine);
    if (!engine->is_body && engine_is_far(engine))
        pool_free(engine->pools[PLACE_DEVICE]);
    mem_free(engine->values);
    mem_free(engine->renews);
    mem_free(engine->rows);
    mem_free(engine->places);
    mem_free(engine->costs);
    mem_free(engine->reports);
    module_scopes_release(&engine->forward);
    module_scopes_release(&engine->backward);
    mem_free(engine);
}

struct pool *engine_pool(const struct engine *engine)
{
    return engine->pools[PLACE_DEVICE];
}

uint32_t engine_set_owner(struct engine *engine, uint32_t owner)
{
    if (engine_is_far(engine))
        pool_set_owner(engine->pools[PLACE_DEVICE], owner);
    return pool_set_owner(engine->pools[PLACE_HOST], owner);
}

const char *engine_node_text(const struct engine *engine,
                             const struct node *node, char *text, size_t size)
{
    const char *path = node->scope == GRAPH_NONE
                           ? graph_name(engine->graph)
                           : graph_scope(engine->graph, node->scope)->path;

    snprintf(text, size, "%s%s%s (%s)", path, node->name[0] ? "." : "",
             node->name, node->op->name);
    return text;
}

enum assay_status engine_run_nodes(struct engine *engine, struct error *err)
{
    struct scope_walk walk = scope_walk_start(&engine->forward);
    enum assay_status st;

    engine_report_model(engine);
    st = engine_spread_pictures(engine, err);
    for (size_t i = 0; !st && i < graph_node_count(engine->graph); i++) {
        const struct node *node = graph_node(engine->graph, i);

        scope_walk_enter(&walk, node);
        st = engine_run_node(engine, i, false, err);
        scope_walk_leave(&walk, node);
    }
    scope_walk_finish(&walk);
    return st;
}

/* Outputs are handed over on the host, but for those that renew a buffer. */
static enum assay_status hand_output(struct engine *engine, size_t i,
                                     struct tensor *output, struct error *err)
{
    uint32_t value = graph_output_at(engine->graph, i, NULL);
    struct engine_value *entry = &engine->values[value];
    bool stays = engine->renews && engine->renews[i] != GRAPH_NONE;
    const struct tensor *there = engine_value(engine, value);
    enum assay_status st = ASSAY_OK;

    if (entry->made.buffer)
        st = engine_make_dense(engine, &entry->made, err);
    if (!st && !stays)
        st = engine_bring(engine, value, PLACE_HOST, GRAPH_NONE, &there, err);
    if (!st)
        *output = tensor_share(there);
    return st;
}

static enum assay_status hand_over(struct engine *engine,
                                   struct tensor *outputs, struct error *err)
{
    size_t n = graph_output_count(engine->graph);
    const struct tensor *there;
    enum assay_status st = ASSAY_OK;

    if (engine_is_far(engine) && !engine->tape)
        st = engine_bring_few(engine, err);
    if (!st)
        st = engine_rooms_cut(engine, err);
    for (size_t i = 0; !st && i < n; i++)
        st = hand_output(engine, i, &outputs[i], err);
    for (uint32_t i = 0; !st && i < graph_value_count(engine->graph); i++) {
        struct engine_value *entry = &engine->values[i];

        if (entry->is_kept && entry->made.buffer)
            st = engine_make_dense(engine, &entry->made, err);
        if (!st && entry->is_kept)
            st = engine_bring(engine, i, PLACE_HOST, GRAPH_NONE, &there, err);
        if (!st && engine_is_over(engine, i))
            engine_drop(engine, i);
    }
    if (!st && engine->tape)
        tape_count(engine);
    if (!st && engine->tape && assay_is_recording())
        engine_report_kept(engine);
    return st;
}

/* The same, with a span of its own where a device has to be waited for. */
static enum assay_status
engine_deliver(struct engine *engine, struct tensor *outputs, struct error *err)
{
    bool is_apart = engine_is_far(engine) && !engine->tape;
    enum assay_status st;

    if (is_apart)
        assay_begin_class("results", RUN_RESULTS_CLASS);
    engine_launching(engine, assay_scope_here());
    st = hand_over(engine, outputs, err);
    engine_launching(engine, 0);
    if (is_apart)
        assay_end();
    return st;
}

/* Asking a device for its times has a span of its own: it is not the model's
 * time. So has asking it to take them. */
static void engine_ask_for_times(struct engine *engine,
                                 void (*ask)(struct engine *engine))
{
    bool is_apart = engine_is_far(engine) && !engine->tape &&
                    engine->backend->class->timings;

    if (is_apart)
        assay_begin_class("times", RUN_RESULTS_CLASS);
    ask(engine);
    if (is_apart)
        assay_end();
}

/* Whether the sizes that the model fixes are those of the input. */
static bool fits(const struct shape *declared, const struct shape *given)
{
    bool is_same = declared->rank == given->rank;

    for (int i = 0; is_same && i < given->rank; i++)
        is_same = declared->dims[i] < 0 || declared->dims[i] == given->dims[i];
    return is_same;
}

enum assay_status engine_check_inputs(const struct engine *engine,
                                      const struct tensor *inputs,
                                      struct error *err)
{
    const struct graph *graph = engine->graph;
    char wanted[64], given[64];

    for (size_t i = 0; i < graph_input_count(graph); i++) {
        const struct value *input =
            graph_value(graph, graph_input_at(graph, i));
        const struct shape *shape = graph_input_shape(graph, i);
        bool is_picture = engine_is_picture(engine, i, &inputs[i]);
        struct shape read =
            is_picture ? engine_picture_shape(&inputs[i]) : inputs[i].shape;

        if (!shape)
            continue;
        if ((inputs[i].dtype != input->dtype && !is_picture) ||
            !fits(shape, &read))
            return error_set(err, ASSAY_BAD_INPUT,
                             "input '%.80s' is %s %s, the model wants %s %s"
                             " (-1: any)",
                             input->name, dtype_name(inputs[i].dtype),
                             shape_text(&inputs[i].shape, given, sizeof given),
                             dtype_name(input->dtype),
                             shape_text(shape, wanted, sizeof wanted));
    }
    return ASSAY_OK;
}

/* Everything of the last run is given back, and the inputs are taken in. */
void engine_begin_run(struct engine *engine, const struct tensor *inputs)
{
    const struct graph *graph = engine->graph;

    engine_forget_values(engine);
    if (engine->tape)
        tape_rewind(engine->tape);
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        struct engine_value *entry = &engine->values[i];

        entry->left = entry->uses;
        entry->moved_bytes[PLACE_HOST] = entry->moved_bytes[PLACE_DEVICE] = 0;
        entry->moved_within[PLACE_HOST] = entry->moved_within[PLACE_DEVICE] =
            false;
        entry->is_made_far = false;
    }
    for (size_t i = 0; i < graph_input_count(graph); i++) {
        uint32_t value = graph_input_at(graph, i);

        engine->values[value].made = tensor_share(&inputs[i]);
        if (engine->tape)
            tape_note(engine->tape, value, &inputs[i]);
    }
}

enum assay_status engine_run(struct engine *engine, const struct tensor *inputs,
                             struct tensor *outputs, struct error *err)
{
    const struct graph *graph = engine->graph;
    struct pool *pool = engine->pools[PLACE_DEVICE];
    enum assay_status st = engine_check_inputs(engine, inputs, err);
    bool is_thrifty;
    uint32_t owner;

    memset(outputs, 0, graph_output_count(graph) * sizeof *outputs);
    if (st)
        return st;
    engine_ask_for_times(engine, engine_watch_device);
    engine_launching(engine, assay_scope_here());
    engine->was_replayed = engine_replay(engine, inputs, outputs, &st, err);
    if (engine->was_replayed)
        return st;
    owner = engine_set_owner(engine, OWNER_OTHER);
    /* What one pass of training gives back is of other sizes than the next
     * one needs, and the sum is what bounds a batch. */
    is_thrifty = pool_set_thrifty(pool, !engine->has_run || engine->tape);
    do {
        engine_rooms_keep(engine);
        engine_begin_run(engine, inputs);
        st = engine_receive(engine, inputs, err);
        if (!st)
            st = engine_run_nodes(engine, err);
    } while (engine_rooms_lost(engine, err));
    if (!st)
        engine_replay_note(engine, inputs);
    if (!st)
        st = engine_deliver(engine, outputs, err);
    engine_rooms_end(engine);
    /* The first pass reads most of the weights, and keeps copies of them. */
    st = engine->has_run ? file_guards_hold(st, err)
                         : file_guards_check(st, err);
    pool_set_thrifty(pool, is_thrifty);
    engine_set_owner(engine, owner);
    engine->has_run = true;
    if (!engine->tape)
        engine_ask_for_times(engine, engine_report_timings);
    if (!st && engine->backend->class->pass_over)
        engine->backend->class->pass_over(engine->backend);
    if (st) {
        for (size_t i = 0; i < graph_output_count(graph); i++)
            tensor_release(&outputs[i]);
        engine_forget_values(engine);
    }
    return st;
}

enum assay_status engine_finish(struct engine *engine, struct error *err)
{
    const struct backend_class *class = engine->backend->class;
    enum assay_status st = ASSAY_OK;

    if (class->synchronise)
        st = class->synchronise(engine->backend, err);
    engine_report_timings(engine);
    return st;
}

enum assay_status engine_timer_begin(struct engine *engine, struct error *err)
{
    const struct backend_class *class = engine->backend->class;

    engine->timer_began_ns = clock_monotonic_ns();
    return class->mark ? class->mark(engine->backend, false, err) : ASSAY_OK;
}

enum assay_status engine_timer_end(struct engine *engine, double *ms,
                                   struct error *err)
{
    const struct backend_class *class = engine->backend->class;
    enum assay_status st =
        class->mark ? class->mark(engine->backend, true, err) : ASSAY_OK;
    double ns = NAN;

    if (!st)
        st = engine_finish(engine, err);
    if (!st && class->mark)
        ns = class->between_marks(engine->backend);
    if (isnan(ns))
        ns = (double)(clock_monotonic_ns() - engine->timer_began_ns);
    *ms = ns / 1e6;
    return st;
}

const struct cost *engine_cost(const struct engine *engine, size_t node)
{
    return &engine->costs[node];
}

struct backend *engine_backend(struct engine *engine)
{
    return engine->backend;
}

enum assay_status engine_keep(struct engine *engine, uint32_t value,
                              struct error *err)
{
    if (value >= graph_value_count(engine->graph))
        return error_set(err, ASSAY_BAD_USAGE, "there is no value %u", value);
    engine->values[value].is_kept = true;
    engine_rooms_forget(engine);
    return ASSAY_OK;
}

const struct tensor *engine_kept(const struct engine *engine, uint32_t value)
{
    const struct engine_value *entry;

    if (value >= graph_value_count(engine->graph))
        return NULL;
    entry = &engine->values[value];
    if (!entry->made.buffer)
        return NULL;
    return tensor_is_on_host(&entry->made) ? &entry->made : &entry->copy;
}
