/* engine/engine.c - see engine.h. */
#include "engine/engine.h"

#include "base/file_guard.h"
#include "base/mem.h"
#include "engine/engine_internal.h"
#include "engine/scope_walk.h"
#include "engine/tape.h"

#include <stdio.h>
#include <string.h>

static enum assay_status make_tables(struct engine *engine, struct error *err)
{
    size_t n_values = graph_value_count(engine->graph);
    size_t n_nodes = graph_node_count(engine->graph);

    engine->values = mem_array(n_values, sizeof *engine->values);
    engine->uses = mem_array(n_values, sizeof *engine->uses);
    engine->left = mem_array(n_values, sizeof *engine->left);
    engine->is_kept = mem_array(n_values, sizeof *engine->is_kept);
    engine->costs = mem_array(n_nodes, sizeof *engine->costs);
    if (!engine->values || !engine->uses || !engine->left || !engine->is_kept ||
        !engine->costs)
        return error_nomem(err, n_values * sizeof *engine->values, "an engine");
    return ASSAY_OK;
}

static enum assay_status count_uses(struct engine *engine, struct error *err)
{
    const struct graph *graph = engine->graph;

    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->n_inputs > ENGINE_MAX_INPUTS ||
            node->n_outputs > ENGINE_MAX_INPUTS)
            return error_set(err, ASSAY_UNSUPPORTED,
                             "node %zu (%s) has %zu inputs and %zu outputs; "
                             "%d is the most",
                             i, node->op->name, node->n_inputs, node->n_outputs,
                             ENGINE_MAX_INPUTS);
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE)
                engine->uses[node->inputs[k]]++;
        }
    }
    for (size_t i = 0; i < graph_output_count(graph); i++)
        engine->uses[graph_output_at(graph, i, NULL)]++;
    return ASSAY_OK;
}

static enum assay_status make_backend(struct engine *engine,
                                      const struct engine_options *options,
                                      struct error *err)
{
    const struct backend_class *class =
        options->backend ? options->backend : &backend_portable;

    if (class->api_version != BACKEND_API_VERSION)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "backend %s speaks version %u of the interface, this "
                         "is %d",
                         class->name, class->api_version, BACKEND_API_VERSION);
    return class->make(engine->graph, &options->backend_options,
                       &engine->backend, err);
}

enum assay_status engine_new(const struct graph *graph, struct pool *pool,
                             const struct engine_options *options,
                             struct engine **out, struct error *err)
{
    struct engine *engine = mem_zalloc(sizeof *engine);
    enum assay_status st;

    *out = NULL;
    if (!engine)
        return error_nomem(err, sizeof *engine, "an engine");
    engine->graph = graph;
    engine->pool = pool;
    engine->detail = options->detail;
    engine->context = (struct op_context){
        .pool = pool, .n_threads = options->backend_options.n_threads};
    st = graph_check(graph, err);
    if (!st)
        st = make_tables(engine, err);
    if (!st)
        st = scope_walk_groups(graph, options->detail, &engine->is_group, err);
    if (!st)
        st = count_uses(engine, err);
    if (!st)
        st = make_backend(engine, options, err);
    if (!st)
        st = engine_bodies_make(engine, options, err);
    if (!st && options->backend_options.is_training)
        st = tape_new(engine, options->recompute, &engine->tape, err);
    if (st) {
        engine_free(engine);
        return st;
    }
    *out = engine;
    return ASSAY_OK;
}

static void forget_values(struct engine *engine)
{
    for (size_t i = 0; i < graph_value_count(engine->graph); i++)
        tensor_release(&engine->values[i]);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    if (engine->values)
        forget_values(engine);
    tape_free(engine->tape);
    if (engine->backend)
        engine->backend->class->free(engine->backend);
    engine_bodies_free(engine);
    mem_free(engine->values);
    mem_free(engine->uses);
    mem_free(engine->left);
    mem_free(engine->is_kept);
    mem_free(engine->is_group);
    mem_free(engine->costs);
    mem_free(engine);
}

const struct tensor *engine_value(const struct engine *engine, uint32_t value)
{
    if (value == GRAPH_NONE)
        return NULL;
    if (engine->values[value].buffer)
        return &engine->values[value];
    return &graph_value(engine->graph, value)->data;
}

static enum assay_status make_dense(struct engine *engine, uint32_t value,
                                    struct error *err)
{
    struct tensor *tensor = &engine->values[value], dense;
    enum assay_status st;

    if (!tensor->layout)
        return ASSAY_OK;
    st = engine->backend->class->to_dense(engine->backend, &engine->context,
                                          tensor, &dense, err);
    if (st)
        return st;
    buffer_set_owner(dense.buffer, buffer_owner(tensor->buffer));
    tensor_release(tensor);
    *tensor = dense;
    return ASSAY_OK;
}

static enum assay_status make_outputs(struct engine *engine,
                                      const struct node *node,
                                      const struct tensor *const *inputs,
                                      struct tensor *outputs, struct error *err)
{
    enum assay_status st = node->op->infer(node, inputs, outputs, err);

    for (size_t i = 0; !st && !node->op->is_view && i < node->n_outputs; i++) {
        struct shape shape = outputs[i].shape;

        st = tensor_new(engine->pool, outputs[i].dtype, &shape, &outputs[i],
                        err);
    }
    return st;
}

/* The op's own kernel, on dense inputs. */
static enum assay_status run_portable(struct engine *engine,
                                      const struct node *node,
                                      const struct tensor **inputs,
                                      struct tensor *outputs, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->layout)
            st = make_dense(engine, node->inputs[i], err);
    }
    if (!st && node->op->infer)
        st = make_outputs(engine, node, inputs, outputs, err);
    if (!st)
        st = node->op->forward(&engine->context, node, inputs, outputs, err);
    return st;
}

/* Whether the backend has a kernel for the node with these inputs: backends
 * compute float32, and no lone numbers. */
static bool has_kernel(const struct engine *engine, const struct node *node,
                       const struct tensor *const *inputs)
{
    const struct backend *backend = engine->backend;
    const struct tensor *x = node->n_inputs ? inputs[0] : NULL;

    return x && x->dtype == DTYPE_F32 && x->shape.rank > 0 &&
           backend->class->can_run(backend, node);
}

enum assay_status engine_run_kernel(struct engine *engine,
                                    const struct node *node, size_t at,
                                    const struct tensor **inputs,
                                    struct tensor *outputs, struct error *err)
{
    struct backend *backend = engine->backend;

    if (has_kernel(engine, node, inputs))
        return backend->class->forward(backend, &engine->context, node, at,
                                       inputs, outputs, err);
    return run_portable(engine, node, inputs, outputs, err);
}

static void count_cost(const struct engine *engine, size_t at,
                       const struct tensor *const *inputs,
                       const struct tensor *outputs)
{
    const struct node *node = graph_node(engine->graph, at);
    const struct backend *backend = engine->backend;
    struct cost *cost = &engine->costs[at];

    *cost = (struct cost){0};
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i])
            cost->read_bytes += tensor_bytes(inputs[i]);
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        cost->write_bytes += tensor_bytes(&outputs[i]);
    cost->done_bytes = cost->read_bytes + cost->write_bytes;
    if (node->op->is_view && outputs[0].buffer == inputs[0]->buffer)
        cost->done_bytes = 0;
    if (node->op->cost)
        node->op->cost(node, inputs, outputs, cost);
    cost->done_flops = 2 * cost->macs + cost->flops;
    if (backend->class->executed && has_kernel(engine, node, inputs))
        backend->class->executed(backend, node, at, inputs, outputs, cost);
}

/* Nobody of this pass reads the value any more: neither somebody outside nor a
 * backward pass needs it. */
static bool is_over(const struct engine *engine, uint32_t value)
{
    return !engine->is_kept[value] && !tape_keeps(engine->tape, value);
}

static void release_unneeded(struct engine *engine, uint32_t value)
{
    if (value != GRAPH_NONE && --engine->left[value] == 0 &&
        is_over(engine, value))
        tensor_release(&engine->values[value]);
}

/* Whether the node that runs now is the last that reads the value. */
static bool is_last_read(const struct engine *engine, uint32_t value,
                         bool is_again)
{
    if (is_again)
        return engine->uses[value] == 1 && !engine->is_kept[value] &&
               !engine->tape->values[value].left;
    return engine->left[value] == 1 && is_over(engine, value);
}

/* Which inputs the node is the last to read. */
static uint64_t find_dying(const struct engine *engine, const struct node *node,
                           bool is_again)
{
    uint64_t dying = 0;

    for (size_t i = 0; i < node->n_inputs; i++) {
        uint32_t value = node->inputs[i];

        if (value != GRAPH_NONE && engine->values[value].buffer &&
            is_last_read(engine, value, is_again))
            dying |= UINT64_C(1) << i;
    }
    return dying;
}

/* A module owns what it makes, also where it makes it in the memory of an
 * input that nobody needs any more. */
static void own_outputs(const struct node *node, struct tensor *outputs,
                        uint32_t owner)
{
    for (size_t i = 0; !node->op->is_view && i < node->n_outputs; i++) {
        if (outputs[i].buffer)
            buffer_set_owner(outputs[i].buffer, owner);
    }
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

/* Outputs become values; those that nobody reads go at once. */
static void take_outputs(struct engine *engine, const struct node *node,
                         struct tensor *outputs, bool is_again)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        uint32_t value = node->outputs[i];

        if (engine->values[value].buffer && is_again) {
            tensor_release(&outputs[i]);
            continue;
        }
        engine->values[value] = outputs[i];
        if (engine->tape)
            tape_note(engine->tape, value, &outputs[i]);
        if (!is_again && !engine->left[value] && is_over(engine, value))
            tensor_release(&engine->values[value]);
    }
}

static enum assay_status run_kernels(struct engine *engine, size_t at,
                                     const struct tensor **inputs,
                                     struct tensor *outputs, struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    char text[ENGINE_NODE_TEXT];
    enum assay_status st;

    engine_bodies_enter(engine, at);
    if (node->op->is_f32)
        st = engine_run_f32(engine, node, at, inputs, outputs, err);
    else
        st = engine_run_kernel(engine, node, at, inputs, outputs, err);
    if (!st)
        return ASSAY_OK;
    for (size_t i = 0; i < node->n_outputs; i++)
        tensor_release(&outputs[i]);
    error_context(err, "%s", engine_node_text(engine, node, text, sizeof text));
    return st;
}

/* What a kernel is told about this run of its node. */
static void set_context(struct engine *engine, size_t at, bool is_again)
{
    const struct node *node = graph_node(engine->graph, at);
    struct tape *tape = engine->tape;

    engine->context.dying = find_dying(engine, node, is_again);
    engine->context.is_again = is_again;
    engine->context.saved =
        tape && tape->nodes[at].wanted ? &tape->nodes[at].saved : NULL;
}

enum assay_status engine_run_node(struct engine *engine, size_t at,
                                  bool is_again, struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    const struct tensor *inputs[ENGINE_MAX_INPUTS];
    struct tensor outputs[ENGINE_MAX_INPUTS] = {{0}};
    uint32_t owner = OWNER_MODULE + 1 + node->scope; /* GRAPH_NONE: the model */
    enum assay_status st;

    pool_set_owner(engine->pool, owner);
    for (size_t i = 0; i < node->n_inputs; i++)
        inputs[i] = engine_value(engine, node->inputs[i]);
    set_context(engine, at, is_again);
    st = run_kernels(engine, at, inputs, outputs, err);
    if (st)
        return st;
    if (!is_again) {
        count_cost(engine, at, inputs, outputs);
        engine_bodies_cost(engine, at, &engine->costs[at]);
    }
    own_outputs(node, outputs, owner);
    engine_watch(engine, node, outputs, node->n_outputs, "");
    take_outputs(engine, node, outputs, is_again);
    for (size_t i = 0; !is_again && i < node->n_inputs; i++)
        release_unneeded(engine, node->inputs[i]);
    return ASSAY_OK;
}

static enum assay_status run_nodes(struct engine *engine, struct error *err)
{
    struct scope_walk walk =
        scope_walk_start(engine->graph, engine->detail, engine->is_group);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_node_count(engine->graph); i++) {
        const struct node *node = graph_node(engine->graph, i);

        scope_walk_enter(&walk, node);
        st = engine_run_node(engine, i, false, err);
        scope_walk_leave(&walk, node);
    }
    scope_walk_finish(&walk);
    return st;
}

static enum assay_status hand_over(struct engine *engine,
                                   struct tensor *outputs, struct error *err)
{
    size_t n = graph_output_count(engine->graph);

    for (size_t i = 0; i < n; i++) {
        uint32_t value = graph_output_at(engine->graph, i, NULL);
        enum assay_status st = make_dense(engine, value, err);

        if (st)
            return st;
        outputs[i] = tensor_share(engine_value(engine, value));
    }
    for (size_t i = 0; i < graph_value_count(engine->graph); i++) {
        enum assay_status st = engine->is_kept[i]
                                   ? make_dense(engine, (uint32_t)i, err)
                                   : ASSAY_OK;

        if (st)
            return st;
        if (is_over(engine, (uint32_t)i))
            tensor_release(&engine->values[i]);
    }
    if (engine->tape)
        tape_count(engine);
    return ASSAY_OK;
}

/* Whether the sizes that the model fixes are those of the input. */
static bool fits(const struct shape *declared, const struct shape *given)
{
    bool is_same = declared->rank == given->rank;

    for (int i = 0; is_same && i < given->rank; i++)
        is_same = declared->dims[i] < 0 || declared->dims[i] == given->dims[i];
    return is_same;
}

static enum assay_status check_inputs(const struct engine *engine,
                                      const struct tensor *inputs,
                                      struct error *err)
{
    const struct graph *graph = engine->graph;
    char wanted[64], given[64];

    for (size_t i = 0; i < graph_input_count(graph); i++) {
        const struct value *input =
            graph_value(graph, graph_input_at(graph, i));
        const struct shape *shape = graph_input_shape(graph, i);

        if (!shape)
            continue;
        if (inputs[i].dtype != input->dtype || !fits(shape, &inputs[i].shape))
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

enum assay_status engine_run(struct engine *engine, const struct tensor *inputs,
                             struct tensor *outputs, struct error *err)
{
    const struct graph *graph = engine->graph;
    enum assay_status st = check_inputs(engine, inputs, err);
    bool is_thrifty;
    uint32_t owner;

    memset(outputs, 0, graph_output_count(graph) * sizeof *outputs);
    if (st)
        return st;
    owner = pool_set_owner(engine->pool, OWNER_OTHER);
    forget_values(engine);
    if (engine->tape)
        tape_rewind(engine->tape);
    memcpy(engine->left, engine->uses,
           graph_value_count(graph) * sizeof *engine->left);
    for (size_t i = 0; i < graph_input_count(graph); i++) {
        uint32_t value = graph_input_at(graph, i);

        engine->values[value] = tensor_share(&inputs[i]);
        if (engine->tape)
            tape_note(engine->tape, value, &inputs[i]);
    }
    /* What one pass of training gives back is of other sizes than the next
     * one needs, and the sum is what bounds a batch. */
    is_thrifty =
        pool_set_thrifty(engine->pool, !engine->has_run || engine->tape);
    st = run_nodes(engine, err);
    if (!st)
        st = hand_over(engine, outputs, err);
    /* The first pass reads most of the weights, and keeps copies of them. */
    st = engine->has_run ? file_guards_hold(st, err)
                         : file_guards_check(st, err);
    pool_set_thrifty(engine->pool, is_thrifty);
    pool_set_owner(engine->pool, owner);
    engine->has_run = true;
    if (!st && engine->backend->class->pass_over)
        engine->backend->class->pass_over(engine->backend);
    if (st) {
        for (size_t i = 0; i < graph_output_count(graph); i++)
            tensor_release(&outputs[i]);
        forget_values(engine);
    }
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
    engine->is_kept[value] = true;
    return ASSAY_OK;
}

const struct tensor *engine_kept(const struct engine *engine, uint32_t value)
{
    if (value >= graph_value_count(engine->graph) ||
        !engine->values[value].buffer)
        return NULL;
    return &engine->values[value];
}
