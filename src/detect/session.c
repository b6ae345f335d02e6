/* detect/session.c - see session.h. */
#include "detect/session.h"

#include "backend/backend.h"
#include "base/mem.h"
#include "formats/model_file.h"
#include "formats/weights/load_weights.h"
#include "ops/detection/rpn_nms.h"
#include "ops/ops.h"
#include "passes/fuse.h"

#include <assay/span.h>

static void report_bytes(void *context, int64_t delta)
{
    (void)context;
    assay_bytes(delta);
}

enum { most_told = 10 }; /* tensors of a kind that do not fit */

static size_t untold(size_t n)
{
    return n > most_told ? n - most_told : 0;
}

static void tell_rest(const struct detect_options *options,
                      const struct weights_report *report)
{
    size_t n = untold(report->n_missing) + untold(report->n_unknown) +
               untold(report->n_unfit);

    if (n && options->warnings)
        sink_printf(options->warnings,
                    "... and %zu more; 'assay weights check %s %s' lists all\n",
                    n, options->weights, options->model);
}

static enum assay_status load_file(const struct detect_options *options,
                                   struct session *session, struct error *err)
{
    const struct weights_problems problems = {options->warnings, most_told};
    struct weights_report report = {0};
    enum assay_status st =
        weights_load_file(session->graph, options->weights, session->pool,
                          options->warnings ? &problems : NULL, &report, err);

    if (st)
        tell_rest(options, &report);
    return st;
}

static void count_parameters(struct session *session)
{
    session->parameters = graph_parameter_elements(session->graph);
    session->parameter_bytes = graph_parameter_bytes(session->graph);
}

/* The graph and its weights; a network description may have none. */
static enum assay_status load_model(const struct detect_options *options,
                                    struct session *session, struct error *err)
{
    enum assay_status st = model_file_load(options->model, &options->onnx,
                                           session->pool, &session->graph, err);

    session->is_random = !st && !graph_has_data(session->graph);
    return session->is_random
               ? model_fill(session->graph, session->pool, options->seed, err)
               : st;
}

/* An ONNX file holds the graph, too. */
static enum assay_status load_weights(const struct detect_options *options,
                                      struct session *session,
                                      struct error *err)
{
    uint32_t owner = pool_set_owner(session->pool, OWNER_WEIGHTS);
    enum assay_status st;

    ASSAY_SPAN("weights");
    if (options->is_onnx)
        st = load_model(options, session, err);
    else if (options->weights)
        st = load_file(options, session, err);
    else
        st = model_fill(session->graph, session->pool, options->seed, err);
    if (!st)
        count_parameters(session);
    if (!st && !options->is_plain)
        st = fuse_graph(session->graph, session->pool, err);
    pool_set_owner(session->pool, owner);
    return st;
}

/* Where the numbers of proposals are, and that they are to be kept. */
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

static enum assay_status open_engine(const struct detect_options *options,
                                     struct session *session, struct error *err)
{
    struct engine_options engine = {
        .backend = backend_best(),
        .backend_options = {.n_threads = options->n_threads,
                            .is_plain = options->is_plain,
                            .tuning_seconds = options->tuning_seconds,
                            .choices_path = options->choices_path},
        .detail = options->detail,
    };
    enum assay_status st;

    st = engine_new(session->graph, session->pool, &engine, &session->engine,
                    err);
    return st ? st : keep_proposals(session, err);
}

static enum assay_status make_tables(struct session *session, struct error *err)
{
    size_t n_nodes = graph_node_count(session->graph);

    session->n_outputs = graph_output_count(session->graph);
    session->outputs = mem_array(session->n_outputs, sizeof *session->outputs);
    session->work = mem_array(n_nodes, sizeof *session->work);
    if (!session->outputs || !session->work)
        return error_nomem(err, n_nodes * sizeof *session->work, "a model");
    return ASSAY_OK;
}

enum assay_status session_open(const struct detect_options *options,
                               struct session *session, struct error *err)
{
    enum assay_status st;

    *session = (struct session){0};
    st = pool_new(&session->pool, err);
    if (!st && !options->is_onnx)
        st = model_build(options->model, &options->build, &session->graph, err);
    if (!st) {
        pool_observe(session->pool, (struct pool_observer){report_bytes, NULL});
        st = load_weights(options, session, err);
    }
    if (!st)
        st = model_inputs_settle(&session->inputs, options, session->graph,
                                 session->pool, err);
    if (!st)
        st = open_engine(options, session, err);
    if (!st)
        st = make_tables(session, err);
    if (st)
        session_close(session);
    return st;
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
    mem_free(session->work);
    engine_free(session->engine);
    graph_free(session->graph);
    pool_free(session->pool);
    *session = (struct session){0};
}

enum assay_status session_run(struct session *session,
                              const struct tensor *images, bool is_measured,
                              struct error *err)
{
    enum assay_status st;

    forget_outputs(session);
    st = engine_run(session->engine, images, session->outputs, err);
    if (st || !is_measured)
        return st;
    for (size_t i = 0; i < graph_node_count(session->graph); i++)
        cost_add(&session->work[i], engine_cost(session->engine, i));
    session->n_measured++;
    return ASSAY_OK;
}

/* Values may share a buffer: whether this one is the first to hold its own. */
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
