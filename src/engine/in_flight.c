/* engine/in_flight.c - see engine.h: passes that are submitted and collected
 * later. */
#include "base/mem.h"
#include "engine/replay_internal.h"

#include <string.h>

/* A pass that was submitted. One that flies is in its recording; of another
 * the results are here. */
struct pass {
    struct replay *replay; /* NULL: it ran when it was submitted */
    struct tensor *outputs;
    struct tensor *kept; /* one per value of the graph */
};

struct passes {
    struct pass ring[ENGINE_MOST_IN_FLIGHT];
    size_t first, n;
};

void engine_allow_in_flight(struct engine *engine, size_t n)
{
    engine->most_in_flight =
        n < ENGINE_MOST_IN_FLIGHT ? n : ENGINE_MOST_IN_FLIGHT;
}

size_t engine_in_flight(const struct engine *engine)
{
    return engine->passes ? engine->passes->n : 0;
}

static void pass_release(const struct engine *engine, struct pass *pass)
{
    size_t n_outputs = graph_output_count(engine->graph);

    for (size_t i = 0; pass->outputs && i < n_outputs; i++)
        tensor_release(&pass->outputs[i]);
    for (size_t i = 0; pass->kept && i < graph_value_count(engine->graph); i++)
        tensor_release(&pass->kept[i]);
    mem_free(pass->outputs);
    mem_free(pass->kept);
    *pass = (struct pass){0};
}

void engine_passes_free(struct engine *engine)
{
    struct passes *passes = engine->passes;
    struct error ignored = {0};

    for (; passes && passes->n; passes->n--) {
        struct pass *pass = &passes->ring[passes->first];

        if (pass->replay) {
            (void)engine->backend->class->flights->wait(pass->replay->flight,
                                                        &ignored);
            pass->replay->is_flying = false;
        }
        pass_release(engine, pass);
        passes->first = (passes->first + 1) % ENGINE_MOST_IN_FLIGHT;
    }
    mem_free(passes);
    engine->passes = NULL;
}

/* ---- submitting ------------------------------------------------------------
 */

static enum assay_status flight_make(struct engine *engine,
                                     struct replay *replay, struct error *err)
{
    size_t n_values = graph_value_count(engine->graph), bytes = 0;

    if (!replay->fetched)
        replay->fetched = mem_array(n_values, sizeof *replay->fetched);
    if (!replay->fetched)
        return error_nomem(err, n_values * sizeof *replay->fetched,
                           "a pass in flight");
    if (replay->flight)
        return ASSAY_OK;
    for (size_t i = 0; i < graph_input_count(engine->graph); i++)
        bytes += tensor_bytes(&replay->inputs[i]) + SPACE_ALIGNMENT;
    return engine->backend->class->flights->make(
        engine->backend, bytes, replay_result_bytes(engine, replay),
        &replay->flight, err);
}

/* Inputs that are on the device already go with the queue. */
static enum assay_status flight_send(struct engine *engine,
                                     struct replay *replay,
                                     const struct tensor *inputs,
                                     struct error *err)
{
    const struct flight_class *flights = engine->backend->class->flights;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < graph_input_count(engine->graph); i++) {
        const struct tensor *to = &replay->inputs[i];

        if (!tensor_is_on_host(&inputs[i]))
            st = tensor_assign(to, &inputs[i], err);
        else
            st = flights->send(replay->flight, tensor_data(to),
                               tensor_data(&inputs[i]), tensor_bytes(to), err);
    }
    return st;
}

static enum assay_status pass_fly(struct engine *engine, struct replay *replay,
                                  const struct tensor *inputs,
                                  struct error *err)
{
    const struct flight_class *flights = engine->backend->class->flights;
    enum assay_status st = flight_make(engine, replay, err);

    if (!st)
        st = flight_send(engine, replay, inputs, err);
    if (!st)
        st = flights->launch(replay->flight, replay->recording, err);
    if (!st)
        st = replay_fetch(engine, replay, err);
    if (st) { /* what it has begun is waited for */
        flights->free(replay->flight);
        replay->flight = NULL;
    }
    replay->is_flying = !st;
    return st;
}

/* Shares what was kept: the next run forgets it. */
static void pass_keep(const struct engine *engine, struct pass *pass)
{
    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++) {
        const struct tensor *there = NULL;

        if (engine->values[i].is_kept)
            there = engine_kept(engine, i);
        if (there && there->buffer)
            pass->kept[i] = tensor_share(there);
    }
}

static enum assay_status pass_run(struct engine *engine, struct pass *pass,
                                  const struct tensor *inputs,
                                  struct error *err)
{
    size_t n_values = graph_value_count(engine->graph);
    size_t n_outputs = graph_output_count(engine->graph);
    enum assay_status st;

    pass->outputs = mem_array(n_outputs, sizeof *pass->outputs);
    pass->kept = mem_array(n_values, sizeof *pass->kept);
    if (!pass->outputs || !pass->kept)
        st = error_nomem(err, n_values * sizeof *pass->kept,
                         "the results of a pass");
    else
        st = engine_run(engine, inputs, pass->outputs, err);
    if (st)
        pass_release(engine, pass);
    else
        pass_keep(engine, pass);
    return st;
}

static enum assay_status passes_make(struct engine *engine, struct error *err)
{
    if (!engine->passes)
        engine->passes = mem_zalloc(sizeof *engine->passes);
    if (!engine->passes)
        return error_nomem(err, sizeof *engine->passes, "passes in flight");
    if (engine->passes->n >= engine_most_in_flight(engine))
        return error_set(err, ASSAY_BAD_USAGE,
                         "%zu passes are in flight, as many as may be; collect "
                         "one first",
                         engine->passes->n);
    return ASSAY_OK;
}

enum assay_status engine_submit(struct engine *engine,
                                const struct tensor *inputs, struct error *err)
{
    struct pass pass = {0};
    enum assay_status st = passes_make(engine, err);

    if (!st)
        st = engine_check_inputs(engine, inputs, err);
    if (!st && engine->backend->class->flights)
        pass.replay = replay_ready(engine, inputs);
    if (!st)
        st = pass.replay ? pass_fly(engine, pass.replay, inputs, err)
                         : pass_run(engine, &pass, inputs, err);
    if (!st) {
        struct passes *passes = engine->passes;

        passes->ring[(passes->first + passes->n++) % ENGINE_MOST_IN_FLIGHT] =
            pass;
    }
    return st;
}

/* ---- collecting ------------------------------------------------------------
 */

static enum assay_status pass_land(struct engine *engine, struct replay *replay,
                                   struct tensor *outputs,
                                   struct engine_pass *about, struct error *err)
{
    const struct flight_class *flights = engine->backend->class->flights;
    enum assay_status st = flights->wait(replay->flight, err);
    struct flight_times times;

    if (!st) {
        times = flights->times(replay->flight);
        *about = (struct engine_pass){true, times.begin_ns, times.end_ns};
        st = replay_outputs(engine, replay, outputs, err);
    }
    replay->is_flying = false;
    return st;
}

/* Of a pass that ran when it was submitted. */
static void pass_hand_over(struct engine *engine, struct pass *pass,
                           struct tensor *outputs)
{
    for (size_t i = 0; i < graph_output_count(engine->graph); i++) {
        outputs[i] = pass->outputs[i];
        pass->outputs[i] = (struct tensor){0};
    }
    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++) {
        if (pass->kept[i].buffer)
            engine->values[i].made = tensor_share(&pass->kept[i]);
    }
}

enum assay_status engine_collect(struct engine *engine, struct tensor *outputs,
                                 struct engine_pass *pass, struct error *err)
{
    struct passes *passes = engine->passes;
    struct engine_pass about = {0};
    enum assay_status st = ASSAY_OK;
    struct pass *first;

    memset(outputs, 0, graph_output_count(engine->graph) * sizeof *outputs);
    if (!engine_in_flight(engine))
        return error_set(err, ASSAY_BAD_USAGE, "no pass is in flight");
    first = &passes->ring[passes->first];
    passes->first = (passes->first + 1) % ENGINE_MOST_IN_FLIGHT;
    passes->n--;
    engine_forget_values(engine);
    if (first->replay)
        st = pass_land(engine, first->replay, outputs, &about, err);
    else
        pass_hand_over(engine, first, outputs);
    pass_release(engine, first);
    engine->was_replayed = about.is_flown;
    if (pass)
        *pass = about;
    return st;
}
