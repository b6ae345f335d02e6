/* engine/send.c - see engine.h: inputs go to the device ahead of the run that
 * needs them. */
#include "base/mem.h"
#include "engine/engine_internal.h"

/* An input that was sent. */
struct sent_input {
    struct tensor of;   /* the caller's */
    struct tensor copy; /* on its way to the device, or there */
};

/* ---- letting go ---------------------------------------------------------- */

static void sent_release(struct sent_input *sent)
{
    tensor_release(&sent->of);
    tensor_release(&sent->copy);
}

void engine_unsend(struct engine *engine)
{
    struct space *space;

    if (!engine->sent)
        return;
    space = pool_space(engine->pools[PLACE_DEVICE]);
    (void)space->receive(space, NULL);
    for (size_t i = 0; i < graph_input_count(engine->graph); i++)
        sent_release(&engine->sent[i]);
    mem_free(engine->sent);
    engine->sent = NULL;
}

/* ---- sending ------------------------------------------------------------- */

/* What the device got of the last run is what it needs of the next. */
static bool is_worth_sending(const struct engine *engine, size_t i,
                             const struct tensor *input)
{
    uint32_t value = graph_input_at(engine->graph, i);

    return input->buffer && tensor_is_on_host(input) &&
           engine->values[value].moved_bytes[PLACE_DEVICE];
}

static enum assay_status send_input(struct engine *engine,
                                    const struct tensor *input,
                                    struct sent_input *sent, struct error *err)
{
    struct pool *pool = engine->pools[PLACE_DEVICE];
    struct space *space = pool_space(pool);
    uint32_t owner = pool_set_owner(pool, buffer_owner(input->buffer));
    enum assay_status st =
        tensor_new(pool, input->dtype, &input->shape, &sent->copy, err);

    pool_set_owner(pool, owner);
    if (!st)
        st = space->send(space, tensor_data(&sent->copy), tensor_data(input),
                         tensor_bytes(input), err);
    if (st)
        tensor_release(&sent->copy);
    else
        sent->of = tensor_share(input);
    return st;
}

bool engine_can_send(const struct engine *engine)
{
    return engine->tape && engine_is_far(engine) &&
           pool_space(engine->pools[PLACE_DEVICE])->send;
}

enum assay_status engine_send(struct engine *engine,
                              const struct tensor *inputs, struct error *err)
{
    size_t n = graph_input_count(engine->graph);
    enum assay_status st = ASSAY_OK;

    engine_unsend(engine);
    if (!engine_can_send(engine))
        return ASSAY_OK;
    engine->sent = mem_array(n, sizeof *engine->sent);
    if (!engine->sent)
        return error_nomem(err, n * sizeof *engine->sent, "inputs ahead");
    engine_launching(engine, assay_scope_here());
    for (size_t i = 0; !st && i < n; i++) {
        if (is_worth_sending(engine, i, &inputs[i]))
            st = send_input(engine, &inputs[i], &engine->sent[i], err);
    }
    engine_launching(engine, 0);
    return st;
}

/* ---- receiving ----------------------------------------------------------- */

static bool sent_is_same(const struct tensor *a, const struct tensor *b)
{
    return a->buffer && a->buffer == b->buffer &&
           tensor_data(a) == tensor_data(b) && a->dtype == b->dtype &&
           shape_equal(&a->shape, &b->shape);
}

enum assay_status engine_receive(struct engine *engine,
                                 const struct tensor *inputs, struct error *err)
{
    struct space *space = pool_space(engine->pools[PLACE_DEVICE]);
    size_t n = engine->sent ? graph_input_count(engine->graph) : 0;
    bool has_any = false;
    enum assay_status st;

    for (size_t i = 0; i < n; i++)
        has_any |= sent_is_same(&engine->sent[i].of, &inputs[i]);
    st = has_any ? space->receive(space, err) : ASSAY_OK;
    for (size_t i = 0; !st && i < n; i++) {
        struct sent_input *sent = &engine->sent[i];
        struct engine_value *entry =
            &engine->values[graph_input_at(engine->graph, i)];

        if (!sent_is_same(&sent->of, &inputs[i]))
            continue;
        entry->copy = sent->copy;
        sent->copy = (struct tensor){0};
        entry->moved_bytes[PLACE_DEVICE] = tensor_bytes(&entry->copy);
        entry->moved_within[PLACE_DEVICE] = true;
        sent_release(sent);
    }
    return st;
}
