/* engine/replay_results.c - see replay_internal.h: what a recorded pass made,
 * on the host. */
#include "engine/replay_internal.h"

#include <string.h>

/* What is being handed out: `near` has the small values. */
struct handout {
    struct engine *engine;
    const struct replay *replay;
    struct tensor near;
    struct error *err;
};

/* Masks of a hundred objects are more than one thread copies while the next
 * pass runs. */
static void copy_together(char *to, const char *from, size_t bytes,
                          int n_threads)
{
    static const size_t part = (size_t)1 << 20;
    size_t n_parts = (bytes + part - 1) / part;

#pragma omp parallel for num_threads(n_threads) if (n_parts > 4)
    for (size_t i = 0; i < n_parts; i++) {
        size_t at = i * part, left = bytes - at;

        memcpy(to + at, from + at, left < part ? left : part);
    }
}

static int copy_threads(const struct engine *engine)
{
    enum { most = 8 };
    int n = engine->context.n_threads;

    return n < 1 ? 1 : n < most ? n : most;
}

/* A tensor on the host with what the bus brought. */
static enum assay_status handout_fetched(struct handout *handout,
                                         const struct tensor *like,
                                         const void *at, struct tensor *out)
{
    enum assay_status st =
        tensor_new(handout->engine->pools[PLACE_HOST], like->dtype,
                   &like->shape, out, handout->err);

    if (!st)
        copy_together(tensor_data(out), at, tensor_bytes(like),
                      copy_threads(handout->engine));
    return st;
}

/* From the device; of a pass in flight, what was fetched of the value already,
 * or fetched now, past what is queued. */
static enum assay_status handout_bring(struct handout *handout, uint32_t value,
                                       const struct tensor *there,
                                       struct tensor *out)
{
    const struct replay *replay = handout->replay;
    const struct flight_class *flights =
        handout->engine->backend->class->flights;
    const void *at = replay->is_flying ? replay->fetched[value] : NULL;
    enum assay_status st = ASSAY_OK;

    if (!replay->is_flying)
        return tensor_copy(handout->engine->pools[PLACE_HOST], there, out,
                           handout->err);
    if (!at)
        st = flights->fetch(replay->flight, tensor_data(there),
                            tensor_bytes(there), &at, handout->err);
    if (!st && !replay->fetched[value])
        st = flights->wait(replay->flight, handout->err);
    if (st)
        return st;
    replay->fetched[value] = at; /* it may be handed out twice */
    return handout_fetched(handout, there, at, out);
}

static enum assay_status handout_together(struct handout *handout)
{
    const struct replay *replay = handout->replay;

    return replay->is_flying
               ? handout_fetched(handout, &replay->together,
                                 replay->fetched_together, &handout->near)
               : tensor_copy(handout->engine->pools[PLACE_HOST],
                             &replay->together, &handout->near, handout->err);
}

/* A value on the host; of a list, the rows that it has room for. */
static enum assay_status handout_whole(struct handout *handout, uint32_t value,
                                       struct tensor *out)
{
    const struct replay *replay = handout->replay;
    const struct tensor *made = &replay->made[value];
    struct tensor there;

    if (!replay->places[value])
        return handout_bring(handout, value, made, out);
    there = engine_gathered(made, replay->places[value], &handout->near);
    *out = tensor_share(&there);
    return ASSAY_OK;
}

static enum assay_status handout_counts(struct handout *handout)
{
    const struct engine *engine = handout->engine;
    const struct replay *replay = handout->replay;
    size_t n = engine->rows ? graph_value_count(engine->graph) : 0;
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < n; i++) {
        if (engine->rows[i].counts_others)
            st = handout_whole(handout, i, &replay->counts[i]);
    }
    return st;
}

/* A value on the host, of a list what there is. */
static enum assay_status handout_value(struct handout *handout, uint32_t value,
                                       struct tensor *out)
{
    const struct replay *replay = handout->replay;
    const struct value_rows *all = handout->engine->rows;
    const struct value_rows *rows = all ? &all[value] : NULL;
    struct tensor from = replay->made[value], cut;
    enum assay_status st;

    if (!rows || !rows->is_list)
        return handout_whole(handout, value, out);
    if (replay->places[value])
        from = engine_gathered(&from, replay->places[value], &handout->near);
    st = engine_rows_cut(rows, &replay->counts[rows->counts], &from, &cut,
                         handout->err);
    if (st)
        return st;
    if (!replay->places[value])
        return handout_bring(handout, value, &cut, out);
    *out = tensor_share(&cut);
    return ASSAY_OK;
}

enum assay_status replay_outputs(struct engine *engine,
                                 const struct replay *replay,
                                 struct tensor *outputs, struct error *err)
{
    const struct graph *graph = engine->graph;
    struct handout handout = {.engine = engine, .replay = replay, .err = err};
    size_t n = graph_value_count(graph);
    enum assay_status st = ASSAY_OK;

    if (replay->together.buffer)
        st = handout_together(&handout);
    if (!st)
        st = handout_counts(&handout);
    for (size_t i = 0; !st && i < graph_output_count(graph); i++)
        st = handout_value(&handout, graph_output_at(graph, i, NULL),
                           &outputs[i]);
    for (uint32_t i = 0; !st && i < n; i++) {
        if (engine->values[i].is_kept && replay->made[i].buffer)
            st = handout_value(&handout, i, &engine->values[i].made);
    }
    for (size_t i = 0; i < n; i++)
        tensor_release(&replay->counts[i]);
    tensor_release(&handout.near);
    for (size_t i = 0; st && i < graph_output_count(graph); i++)
        tensor_release(&outputs[i]);
    return st;
}

/* ---- in flight ----------------------------------------------------------- */

/* Whether the value is brought by itself, whole as soon as the pass is over. A
 * list comes later, when its length is known. */
static bool result_is_apart(const struct replay *replay, uint32_t value)
{
    return replay->made[value].buffer && !replay->places[value];
}

static bool result_is_list(const struct engine *engine, uint32_t value)
{
    return engine->rows && engine->rows[value].is_list;
}

size_t replay_result_bytes(const struct engine *engine,
                           const struct replay *replay)
{
    size_t bytes = 0;

    if (replay->together.buffer)
        bytes = tensor_bytes(&replay->together) + SPACE_ALIGNMENT;
    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++) {
        if (result_is_apart(replay, i))
            bytes += tensor_bytes(&replay->made[i]) + SPACE_ALIGNMENT;
    }
    return bytes;
}

enum assay_status replay_fetch(struct engine *engine, struct replay *replay,
                               struct error *err)
{
    const struct flight_class *flights = engine->backend->class->flights;
    const struct tensor *together = &replay->together;
    enum assay_status st = ASSAY_OK;

    if (together->buffer)
        st = flights->fetch(replay->flight, tensor_data(together),
                            tensor_bytes(together), &replay->fetched_together,
                            err);
    for (uint32_t i = 0; !st && i < graph_value_count(engine->graph); i++) {
        const struct tensor *made = &replay->made[i];

        replay->fetched[i] = NULL;
        if (result_is_apart(replay, i) && !result_is_list(engine, i))
            st = flights->fetch(replay->flight, tensor_data(made),
                                tensor_bytes(made), &replay->fetched[i], err);
    }
    return st;
}
