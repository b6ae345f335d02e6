/* engine/replay.c - see engine_internal.h: a forward pass as one launch.
 *
 * A pass over inputs of sizes that were seen before puts the same kernels on
 * the device, in the same order. Where nothing in it had to be looked at or
 * computed on the host, a backend that can do so records it once, and from then
 * on the host copies the inputs in, launches the whole, and copies the outputs
 * out. What a recorded pass works in belongs to it alone: a pool of its own.
 * Lists whose length is data are as long as they can be in it (rooms.c). */
#include "engine/engine_internal.h"

#include "base/mem.h"

#include <assay/span.h>

enum { most_replays = 8 }; /* sizes of inputs that are remembered */

enum replay_state {
    REPLAY_SEEN, /* ran once: it may be recorded */
    REPLAY_READY,
    REPLAY_IMPOSSIBLE
};

struct replay {
    struct replay *next; /* less recently used */
    enum replay_state state;
    struct tensor *inputs;  /* on the device; before that, types and shapes */
    struct tensor *made;    /* the values to hand out; on the device */
    struct tensor together; /* small ones of them once more, in one piece */
    size_t *places;         /* of each value in that, plus 1; 0: not there */
    struct tensor
        *counts; /* of lists, on the host, while they are handed out */
    struct pool *pool;
    size_t pass_bytes; /* what a pass has at most; 0: unknown */
    struct backend_recording *recording;
};

/* Gives back all memory of the device; the sizes of the inputs stay. */
static void replay_give_up(struct engine *engine, struct replay *replay)
{
    if (replay->recording)
        engine->backend->class->recording_free(engine->backend,
                                               replay->recording);
    for (size_t i = 0; replay->inputs && i < graph_input_count(engine->graph);
         i++) {
        struct tensor like = {.dtype = replay->inputs[i].dtype,
                              .shape = replay->inputs[i].shape};

        tensor_release(&replay->inputs[i]);
        replay->inputs[i] = like;
    }
    for (uint32_t i = 0; replay->made && i < graph_value_count(engine->graph);
         i++)
        tensor_release(&replay->made[i]);
    tensor_release(&replay->together);
    pool_free(replay->pool);
    replay->pool = NULL;
    replay->recording = NULL;
}

static void replay_free(struct engine *engine, struct replay *replay)
{
    if (!replay)
        return;
    replay_give_up(engine, replay);
    mem_free(replay->inputs);
    mem_free(replay->made);
    mem_free(replay->counts);
    mem_free(replay->places);
    mem_free(replay);
}

void engine_replays_free(struct engine *engine)
{
    while (engine->replays) {
        struct replay *next = engine->replays->next;

        replay_free(engine, engine->replays);
        engine->replays = next;
    }
}

static bool replay_fits(const struct engine *engine,
                        const struct replay *replay,
                        const struct tensor *inputs)
{
    bool is_same = true;

    for (size_t i = 0; is_same && i < graph_input_count(engine->graph); i++)
        is_same = inputs[i].dtype == replay->inputs[i].dtype &&
                  !inputs[i].layout &&
                  shape_equal(&inputs[i].shape, &replay->inputs[i].shape);
    return is_same;
}

/* The one for inputs of these sizes, which becomes the first; NULL: none. */
static struct replay *replay_find(struct engine *engine,
                                  const struct tensor *inputs)
{
    struct replay **at = &engine->replays, *found;

    while (*at && !replay_fits(engine, *at, inputs))
        at = &(*at)->next;
    found = *at;
    if (found) {
        *at = found->next;
        found->next = engine->replays;
        engine->replays = found;
    }
    return found;
}

/* ---- a pass that was launched one by one --------------------------------- */

/* Whether the host had no part in the pass that just ran. */
static bool is_all_on_device(const struct engine *engine)
{
    const struct graph *graph = engine->graph;

    for (size_t i = 0; i < graph_node_count(graph); i++) {
        if (graph_node(graph, i)->n_bodies)
            return false;
    }
    for (uint32_t i = 0; i < graph_value_count(graph); i++) {
        const struct engine_value *entry = &engine->values[i];
        enum value_kind kind = graph_value(graph, i)->kind;

        if ((kind == VALUE_COMPUTED || kind == VALUE_INPUT) &&
            (entry->moved_within[PLACE_HOST] ||
             (kind == VALUE_COMPUTED && entry->moved_within[PLACE_DEVICE])))
            return false;
    }
    for (size_t i = 0; i < graph_output_count(graph); i++) {
        uint32_t value = graph_output_at(graph, i, NULL);

        if (graph_value(graph, value)->kind != VALUE_COMPUTED ||
            !engine->values[value].is_made_far)
            return false;
    }
    return true;
}

/* Whether no list is in it that was cut: the next may be longer. */
static bool has_known_rows(const struct engine *engine)
{
    const struct graph *graph = engine->graph;

    for (size_t i = 0; !engine->rows && i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; k < node->n_outputs; k++) {
            if (engine_rows_of(engine, node, k).kind == ROWS_COUNTED)
                return false;
        }
    }
    return true;
}

static void replays_limit(struct engine *engine)
{
    size_t n = 0;

    for (struct replay **at = &engine->replays; *at; at = &(*at)->next) {
        if (++n > most_replays) {
            struct replay *oldest = *at;

            *at = oldest->next;
            replay_free(engine, oldest);
            return;
        }
    }
}

void engine_replay_note(struct engine *engine, const struct tensor *inputs)
{
    size_t n = graph_input_count(engine->graph);
    struct replay *replay;

    if (!engine->may_replay || engine->is_replay_off ||
        replay_find(engine, inputs))
        return;
    replay = mem_zalloc(sizeof *replay);
    if (replay)
        replay->inputs = mem_array(n, sizeof *replay->inputs);
    if (!replay || !replay->inputs) {
        mem_free(replay); /* then it is launched one by one again */
        return;
    }
    for (size_t i = 0; i < n; i++)
        replay->inputs[i] =
            (struct tensor){.dtype = inputs[i].dtype, .shape = inputs[i].shape};
    replay->state = is_all_on_device(engine) && has_known_rows(engine)
                        ? REPLAY_SEEN
                        : REPLAY_IMPOSSIBLE;
    replay->next = engine->replays;
    engine->replays = replay;
    replays_limit(engine);
}

/* ---- recording ----------------------------------------------------------- */

static enum assay_status replay_make_inputs(struct engine *engine,
                                            struct replay *replay,
                                            struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_input_count(engine->graph); i++) {
        struct shape shape = replay->inputs[i].shape;
        enum dtype dtype = replay->inputs[i].dtype;

        st = tensor_new(replay->pool, dtype, &shape, &replay->inputs[i], err);
        if (st)
            replay->inputs[i] = (struct tensor){.dtype = dtype, .shape = shape};
    }
    return st;
}

static enum assay_status keep_made(struct engine *engine, struct replay *replay,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (uint32_t i = 0; !st && i < graph_value_count(engine->graph); i++) {
        struct engine_value *entry = &engine->values[i];

        if (!entry->made.buffer || !engine_wants(engine, i))
            continue;
        st = engine_make_dense(engine, &entry->made, err);
        if (!st)
            replay->made[i] = tensor_share(&entry->made);
    }
    return st;
}

static enum assay_status replay_gather(struct engine *engine,
                                       struct replay *replay,
                                       struct tensor *out, struct error *err)
{
    size_t bytes = engine_gather_places(engine, replay->places);

    return bytes ? engine_gather(engine, replay->places, bytes, out, err)
                 : ASSAY_OK;
}

/* Memory for all of the pass in one piece, which its values then share: in
 * several pieces, what is free at the end of each would be lost. */
static void reserve_pass(struct engine *engine, const struct replay *replay)
{
    struct space *space = pool_space(engine->pools[PLACE_DEVICE]);
    void *all = NULL;

    if (space->keeps_recorded && replay->pass_bytes)
        all = space->take(space, replay->pass_bytes);
    if (all)
        space->give(space, all, replay->pass_bytes);
}

/* Runs the pass while the backend records what is queued. */
static enum assay_status record_pass(struct engine *engine,
                                     struct replay *replay, struct error *err)
{
    const struct backend_class *class = engine->backend->class;
    enum assay_status st = class->recording_begin(engine->backend, err);

    if (st)
        return st;
    reserve_pass(engine, replay);
    engine_begin_run(engine, replay->inputs);
    st = engine_run_nodes(engine, err);
    if (!st)
        st = keep_made(engine, replay, err);
    if (!st)
        st = replay_gather(engine, replay, &replay->together, err);
    if (st)
        class->recording_end(engine->backend, NULL, NULL);
    else
        st = class->recording_end(engine->backend, &replay->recording, err);
    engine_forget_values(engine);
    return st;
}

/* The pass once more, one by one: what it needs at most is measured, and what
 * could not be recorded is done before. */
static enum assay_status replay_rehearse(struct engine *engine,
                                         struct replay *replay,
                                         const struct tensor *inputs,
                                         struct error *err)
{
    struct pool *pool = engine->pools[PLACE_DEVICE];
    size_t before = pool_usage(pool).live_bytes;
    struct tensor together = {0};
    enum assay_status st;

    pool_reset_peak(pool);
    engine_begin_run(engine, inputs);
    st = engine_run_nodes(engine, err);
    if (!st)
        st = replay_gather(engine, replay, &together, err);
    tensor_release(&together);
    engine_forget_values(engine);
    replay->pass_bytes = pool_usage(pool).peak_bytes - before;
    return st;
}

static enum assay_status replay_make_tables(const struct engine *engine,
                                            struct replay *replay,
                                            struct error *err)
{
    size_t n = graph_value_count(engine->graph);

    replay->made = mem_array(n, sizeof *replay->made);
    replay->counts = mem_array(n, sizeof *replay->counts);
    replay->places = mem_array(n, sizeof *replay->places);
    if (!replay->made || !replay->counts || !replay->places)
        return error_nomem(err, n * sizeof *replay->made, "a recorded pass");
    return ASSAY_OK;
}

static enum assay_status replay_make(struct engine *engine,
                                     struct replay *replay, struct error *err)
{
    struct pool *pool = engine->pools[PLACE_DEVICE];
    enum assay_status st = pool_new_in(pool_space(pool), &replay->pool, err);

    if (st)
        return st;
    pool_report(replay->pool, true);
    if (pool_space(pool)->keeps_recorded)
        pool_hold_nothing(replay->pool);
    /* What passes that are launched one by one need, and choosing kernels: it
     * goes first, so that nothing that stays is put into it. */
    pool_trim(pool);
    if (pool_space(pool)->trim)
        pool_space(pool)->trim(pool_space(pool));
    st = replay_make_inputs(engine, replay, err);
    if (st)
        return st;
    engine->pools[PLACE_DEVICE] = replay->pool;
    st = record_pass(engine, replay, err);
    engine->pools[PLACE_DEVICE] = pool;
    return st;
}

static enum assay_status replay_record(struct engine *engine,
                                       struct replay *replay,
                                       const struct tensor *inputs,
                                       struct error *err)
{
    enum assay_status st = replay_make_tables(engine, replay, err);

    engine_rooms_keep(engine);
    if (!st && engine->rows)
        st = replay_rehearse(engine, replay, inputs, err);
    if (!st)
        st = replay_make(engine, replay, err);
    engine_rooms_end(engine);
    return st;
}

/* ---- replaying ----------------------------------------------------------- */

/* What is being handed out: `near` has the small values. */
struct handout {
    struct engine *engine;
    const struct replay *replay;
    struct tensor near;
    struct error *err;
};

/* A value on the host; of a list, the rows that it has room for. */
static enum assay_status handout_whole(struct handout *handout, uint32_t value,
                                       struct tensor *out)
{
    const struct replay *replay = handout->replay;
    const struct tensor *made = &replay->made[value];
    struct tensor there;

    if (!replay->places[value])
        return tensor_copy(handout->engine->pools[PLACE_HOST], made, out,
                           handout->err);
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
        return tensor_copy(handout->engine->pools[PLACE_HOST], &cut, out,
                           handout->err);
    *out = tensor_share(&cut);
    return ASSAY_OK;
}

static enum assay_status replay_outputs(struct engine *engine,
                                        const struct replay *replay,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct graph *graph = engine->graph;
    struct handout handout = {.engine = engine, .replay = replay, .err = err};
    size_t n = graph_value_count(graph);
    enum assay_status st = ASSAY_OK;

    if (replay->together.buffer)
        st = tensor_copy(engine->pools[PLACE_HOST], &replay->together,
                         &handout.near, err);
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

static enum assay_status replay_run(struct engine *engine,
                                    const struct replay *replay,
                                    const struct tensor *inputs,
                                    struct tensor *outputs, struct error *err)
{
    const struct backend_class *class = engine->backend->class;
    enum assay_status st = ASSAY_OK;

    engine_forget_values(engine);
    for (size_t i = 0; !st && i < graph_input_count(engine->graph); i++)
        st = tensor_assign(&replay->inputs[i], &inputs[i], err);
    if (!st)
        st = class->recording_run(engine->backend, replay->recording, err);
    if (!st)
        st = replay_outputs(engine, replay, outputs, err);
    return st;
}

bool engine_replay(struct engine *engine, const struct tensor *inputs,
                   struct tensor *outputs, enum assay_status *st,
                   struct error *err)
{
    struct replay *replay = NULL;
    struct error ignored = {0};

    if (engine->may_replay && !engine->is_replay_off && !assay_is_recording())
        replay = replay_find(engine, inputs);
    if (!replay)
        return false;
    if (replay->state == REPLAY_SEEN) {
        replay->state = replay_record(engine, replay, inputs, &ignored)
                            ? REPLAY_IMPOSSIBLE
                            : REPLAY_READY;
        if (replay->state == REPLAY_IMPOSSIBLE)
            replay_give_up(engine, replay);
    }
    if (replay->state != REPLAY_READY)
        return false;
    *st = replay_run(engine, replay, inputs, outputs, err);
    return true;
}

bool engine_was_replayed(const struct engine *engine)
{
    return engine->was_replayed;
}

bool engine_can_replay(const struct engine *engine)
{
    return engine->may_replay;
}

void engine_allow_replay(struct engine *engine, bool is_allowed)
{
    engine->is_replay_off = !is_allowed;
}
