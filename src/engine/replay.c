/* engine/replay.c - see engine_internal.h: a forward pass as one launch.
 *
 * A pass over inputs of sizes that were seen before puts the same kernels on
 * the device, in the same order. Where nothing in it had to be looked at or
 * computed on the host, a backend that can do so records it once, and from then
 * on the host copies the inputs in, launches the whole, and copies the outputs
 * out. What a recorded pass works in belongs to it alone: a pool of its own.
 * Lists whose length is data are as long as they can be in it (rooms.c). */
#include "engine/replay_internal.h"

#include "base/mem.h"

#include <assay/span.h>

/* Sizes of inputs that are remembered: at least, and at most if half of the
 * device's memory is free. */
enum { most_replays = 8, most_roomy_replays = 64 };

/* Gives back all memory of the device; the sizes of the inputs stay. */
static void replay_give_up(struct engine *engine, struct replay *replay)
{
    if (replay->flight)
        engine->backend->class->flights->free(replay->flight);
    replay->flight = NULL;
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
    mem_free(replay->fetched);
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

/* Where one for inputs of these sizes is in the list that is not in flight:
 * one that can be run, where there is one. */
static struct replay **replay_seek(struct engine *engine,
                                   const struct tensor *inputs)
{
    struct replay **found = NULL;

    for (struct replay **at = &engine->replays; *at; at = &(*at)->next) {
        bool is_better = !found || ((*found)->state == REPLAY_IMPOSSIBLE &&
                                    (*at)->state != REPLAY_IMPOSSIBLE);

        if (is_better && !(*at)->is_flying && replay_fits(engine, *at, inputs))
            found = at;
    }
    return found;
}

/* The same, which becomes the first; NULL: none. */
static struct replay *replay_find(struct engine *engine,
                                  const struct tensor *inputs)
{
    struct replay **at = replay_seek(engine, inputs), *found;

    if (!at)
        return NULL;
    found = *at;
    *at = found->next;
    found->next = engine->replays;
    engine->replays = found;
    return found;
}

/* How many there are for these sizes. */
static size_t replay_count(const struct engine *engine,
                           const struct tensor *inputs)
{
    size_t n = 0;

    for (const struct replay *at = engine->replays; at; at = at->next)
        n += replay_fits(engine, at, inputs);
    return n;
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

static bool has_much_room(const struct engine *engine)
{
    struct space *space = pool_space(engine->pools[PLACE_DEVICE]);
    size_t free_bytes, total_bytes;

    return space->room && space->room(space, &free_bytes, &total_bytes) &&
           free_bytes > total_bytes / 2;
}

/* Lets go of those that were not used for the longest time. */
static void replays_limit(struct engine *engine)
{
    size_t each = has_much_room(engine) ? most_roomy_replays : most_replays;
    size_t n = 0, most = each * engine_most_in_flight(engine);
    struct replay **at = &engine->replays;

    while (*at) {
        struct replay *oldest = *at;

        if (++n > most && !oldest->is_flying) {
            *at = oldest->next;
            replay_free(engine, oldest);
        } else {
            at = &oldest->next;
        }
    }
}

/* One more for inputs of these sizes, the first of all; NULL: no memory, and
 * the pass is launched one by one. */
static struct replay *replay_add(struct engine *engine,
                                 const struct tensor *inputs,
                                 enum replay_state state)
{
    size_t n = graph_input_count(engine->graph);
    struct replay *replay = mem_zalloc(sizeof *replay);

    if (replay)
        replay->inputs = mem_array(n, sizeof *replay->inputs);
    if (!replay || !replay->inputs) {
        mem_free(replay);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        replay->inputs[i] =
            (struct tensor){.dtype = inputs[i].dtype, .shape = inputs[i].shape};
    replay->state = state;
    replay->next = engine->replays;
    engine->replays = replay;
    replays_limit(engine);
    return replay;
}

void engine_replay_note(struct engine *engine, const struct tensor *inputs)
{
    if (!engine->may_replay || engine->is_replay_off ||
        replay_count(engine, inputs))
        return;
    (void)replay_add(engine, inputs,
                     is_all_on_device(engine) && has_known_rows(engine)
                         ? REPLAY_SEEN
                         : REPLAY_IMPOSSIBLE);
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

struct replay *replay_ready(struct engine *engine, const struct tensor *inputs)
{
    struct replay *replay = NULL;
    struct error ignored = {0};
    size_t n;

    if (!engine->may_replay || engine->is_replay_off || assay_is_recording())
        return NULL;
    replay = replay_find(engine, inputs);
    n = replay ? 0 : replay_count(engine, inputs);
    if (n && n < engine_most_in_flight(engine)) /* those fly: they are good */
        replay = replay_add(engine, inputs, REPLAY_SEEN);
    if (!replay)
        return NULL;
    if (replay->state == REPLAY_SEEN) {
        replay->state = replay_record(engine, replay, inputs, &ignored)
                            ? REPLAY_IMPOSSIBLE
                            : REPLAY_READY;
        if (replay->state == REPLAY_IMPOSSIBLE)
            replay_give_up(engine, replay);
    }
    return replay->state == REPLAY_READY ? replay : NULL;
}

bool engine_replay(struct engine *engine, const struct tensor *inputs,
                   struct tensor *outputs, enum assay_status *st,
                   struct error *err)
{
    struct replay *replay = replay_ready(engine, inputs);

    if (replay)
        *st = replay_run(engine, replay, inputs, outputs, err);
    return replay;
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
