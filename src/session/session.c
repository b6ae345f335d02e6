/* session/session.c - see session.h. */
#include "session/session.h"

#include "backend/backend.h"
#include "base/mem.h"
#include "observe/shortage.h"
#include "ops/detection/rpn_nms.h"
#include "ops/ops.h"
#include "passes/fuse.h"
#include "passes/fuse_host.h"

#include <assay/span.h>

#include <stdio.h>

static const struct device *
session_device(const struct session_options *options)
{
    return options->device ? options->device : device_cpu();
}

static void session_count_parameters(struct session *session)
{
    session->parameters = graph_parameter_elements(session->graph);
    session->buffers = graph_buffer_elements(session->graph);
    session->parameter_bytes = graph_parameter_bytes(session->graph);
}

/* Opens a graph with all its weights, as kernels will run it. */
static enum assay_status settle_graph(const struct session_options *options,
                                      struct session *session,
                                      struct error *err)
{
    enum assay_status st;

    session_count_parameters(session);
    if (options->is_plain)
        return ASSAY_OK;
    st = fuse_graph(session->graph, session->pool, err);
    if (!st && session_device(options)->space->is_host)
        st = fuse_for_host(session->graph, session->pool,
                           options->precision == PRECISION_BF16, err);
    return st;
}

static enum assay_status
session_load_model(const struct session_options *options,
                   struct session *session, struct error *err)
{
    const struct model_source *model = &options->model;
    uint32_t owner = pool_set_owner(session->pool, OWNER_WEIGHTS);
    enum assay_status st;

    ASSAY_SPAN("weights");
    st = model_open(model, session->pool, &session->graph, err);
    session->is_random =
        !st && !model->weights && !graph_has_data(session->graph);
    if (!st)
        st = model_load_weights(model, session->graph, session->pool,
                                options->warnings, err);
    if (!st)
        st = settle_graph(options, session, err);
    pool_set_owner(session->pool, owner);
    return st;
}

/* Finds the numbers of proposals, and keeps their values. */
static enum assay_status keep_proposals(struct session *session,
                                        struct error *err)
{
    const struct graph *graph = session->graph;
    enum assay_status st = ASSAY_OK;

    for (int i = 0; i < N_SESSION_KEPT; i++)
        session->kept[i] = GRAPH_NONE;
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        if (node->op != &op_rpn_nms)
            continue;
        session->kept[SESSION_PROPOSALS] = node->outputs[RPN_NMS_KEPT];
        session->kept[SESSION_PROPOSALS_OF_LEVEL] =
            node->outputs[RPN_NMS_LEVELS];
        session->kept[SESSION_CANDIDATES_OF_LEVEL] =
            node->inputs[RPN_NMS_COUNTS];
    }
    for (int i = 0; !st && i < N_SESSION_KEPT; i++) {
        if (session->kept[i] != GRAPH_NONE)
            st = engine_keep(session->engine, session->kept[i], err);
    }
    return st;
}

const struct tensor *session_kept(const struct session *session,
                                  enum session_kept kept)
{
    uint32_t value = session->kept[kept];

    return value == GRAPH_NONE ? NULL : engine_kept(session->engine, value);
}

static enum assay_status open_engine(const struct session_options *options,
                                     struct session *session, struct error *err)
{
    struct engine_options engine = {
        .device = session_device(options),
        .may_replay = options->may_replay,
        .backend_options = {.n_threads = options->n_threads,
                            .precision = options->precision,
                            .is_plain =
                                options->is_plain && !options->tunes_plain,
                            .tuning_seconds = options->tuning_seconds,
                            .choices_path = options->choices_path},
        .detail = options->detail,
    };
    const struct backend_class *class = engine.device->backend;
    enum assay_status st;

    st = engine_new(session->graph, session->pool, &engine, &session->engine,
                    err);
    if (!st && options->warnings && class->missing)
        class->missing(engine.device, options->warnings);
    return st ? st : keep_proposals(session, err);
}

static enum assay_status session_make_tables(struct session *session,
                                             struct error *err)
{
    session->n_outputs = graph_output_count(session->graph);
    session->outputs = mem_array(session->n_outputs, sizeof *session->outputs);
    if (!session->outputs)
        return error_nomem(err, session->n_outputs * sizeof *session->outputs,
                           "a model");
    return ASSAY_OK;
}

/* Finishes opening, if st says that the graph is ready; closes the session on
 * failure. */
static enum assay_status make_ready(const struct session_options *options,
                                    struct session *session,
                                    enum assay_status st, struct error *err)
{
    if (!st)
        st = model_inputs_settle(&session->inputs, &options->model,
                                 &options->vision, session->graph,
                                 session->pool, err);
    if (!st)
        st = open_engine(options, session, err);
    if (!st)
        st = session_make_tables(session, err);
    if (st)
        session_close(session);
    return st;
}

enum assay_status session_open(const struct session_options *options,
                               struct session *session, struct error *err)
{
    enum assay_status st;

    *session = (struct session){.has_own_pool = true};
    st = pool_new(&session->pool, err);
    if (!st) {
        pool_report(session->pool, session_device(options)->space->is_host);
        st = session_load_model(options, session, err);
    }
    return make_ready(options, session, st, err);
}

enum assay_status session_open_graph(const struct session_options *options,
                                     struct pool *pool, struct graph *graph,
                                     struct session *session, struct error *err)
{
    uint32_t owner = pool_set_owner(pool, OWNER_WEIGHTS);
    enum assay_status st;

    *session = (struct session){.pool = pool, .graph = graph};
    st = settle_graph(options, session, err);
    pool_set_owner(pool, owner);
    return make_ready(options, session, st, err);
}

static void forget_outputs(struct session *session)
{
    for (size_t i = 0; session->outputs && i < session->n_outputs; i++)
        tensor_release(&session->outputs[i]);
}

void session_close(struct session *session)
{
    forget_outputs(session);
    model_inputs_release(&session->inputs);
    mem_free(session->outputs);
    engine_free(session->engine);
    graph_free(session->graph);
    if (session->has_own_pool)
        pool_free(session->pool);
    *session = (struct session){0};
}

/* Images of one pass. */
static int64_t session_batch(const struct session *session)
{
    const struct model_inputs *inputs = &session->inputs;

    return inputs->kind == INPUTS_PHOTOGRAPHS || !inputs->n
               ? (int64_t)graph_input_count(session->graph)
               : model_inputs_images(&inputs->shapes[0]);
}

static void session_hint_batch(const struct session *session, struct error *err)
{
    struct shortage shortage;
    char hint[80];
    int64_t n;

    if (!shortage_look(engine_pool(session->engine), &shortage))
        return;
    shortage.batch = session_batch(session);
    if (shortage.batch < 2)
        return;
    n = shortage_batch(&shortage);
    snprintf(hint, sizeof hint, "a batch of %lld is the most that could fit",
             (long long)n);
    error_hint(err, n ? hint : "not even one image fits");
}

enum assay_status session_run(struct session *session,
                              const struct tensor *images, struct error *err)
{
    enum assay_status st;

    forget_outputs(session);
    st = engine_run(session->engine, images, session->outputs, err);
    if (st == ASSAY_NOMEM)
        session_hint_batch(session, err);
    return st;
}

enum assay_status session_submit(struct session *session,
                                 const struct tensor *images, struct error *err)
{
    enum assay_status st = engine_submit(session->engine, images, err);

    if (st == ASSAY_NOMEM)
        session_hint_batch(session, err);
    return st;
}

enum assay_status session_collect(struct session *session,
                                  struct engine_pass *pass, struct error *err)
{
    forget_outputs(session);
    return engine_collect(session->engine, session->outputs, pass, err);
}

/* Values may share a buffer: whether this one is the first to hold it. */
static bool is_first_holder(const struct graph *graph, uint32_t value)
{
    const struct buffer *buffer = graph_value(graph, value)->data.buffer;

    for (uint32_t i = 0; i < value; i++) {
        if (graph_value(graph, i)->data.buffer == buffer)
            return false;
    }
    return true;
}

struct session_memory session_memory(const struct session *session)
{
    const struct backend *backend = engine_backend(session->engine);
    struct session_memory memory = {0};

    if (backend->class->memory)
        backend->class->memory(backend, &memory.weights_bytes,
                               &memory.scratch_bytes);
    for (uint32_t i = 0; i < graph_value_count(session->graph); i++) {
        const struct tensor *data = &graph_value(session->graph, i)->data;
        size_t in_pool = data->buffer ? buffer_pool_bytes(data->buffer) : 0;

        if (in_pool && is_first_holder(session->graph, i))
            memory.weights_bytes += in_pool;
        else if (data->buffer && !in_pool)
            memory.mapped_bytes += tensor_bytes(data);
    }
    return memory;
}
