/* engine/few_values.c - see engine_internal.h: each copy to the host takes as
 * long as a few kernels, so small values are put into one piece before. */
#include "engine/engine_internal.h"

#include "base/mem.h"

/* Values up to this size leave the device together, each aligned. */
enum { few_bytes = 64 << 10, few_alignment = 64 };

static bool is_one_of_few(const struct engine *engine, uint32_t value)
{
    const struct engine_value *entry = &engine->values[value];
    const struct tensor *made = &entry->made;

    return made->buffer && !made->layout && !tensor_is_on_host(made) &&
           !entry->copy.buffer && tensor_bytes(made) &&
           tensor_bytes(made) <= few_bytes && engine_wants(engine, value);
}

size_t engine_gather_places(const struct engine *engine, size_t *places)
{
    size_t n = graph_value_count(engine->graph), n_few = 0, bytes = 0;

    for (uint32_t i = 0; i < n; i++) {
        size_t size;

        places[i] = 0;
        if (!is_one_of_few(engine, i))
            continue;
        size = tensor_bytes(&engine->values[i].made);
        places[i] = bytes + 1;
        bytes += (size + few_alignment - 1) / few_alignment * few_alignment;
        n_few++;
    }
    for (size_t i = 0; n_few < 2 && i < n; i++)
        places[i] = 0; /* nothing to put together */
    return n_few < 2 ? 0 : bytes;
}

struct tensor engine_gathered(const struct tensor *like, size_t place,
                              const struct tensor *together)
{
    return (struct tensor){.dtype = like->dtype,
                           .shape = like->shape,
                           .buffer = together->buffer,
                           .offset = together->offset + place - 1};
}

enum assay_status engine_gather(struct engine *engine, const size_t *places,
                                size_t bytes, struct tensor *out,
                                struct error *err)
{
    const struct backend_math *math = engine_math(engine, PLACE_DEVICE);
    struct shape shape = shape_of(1, (int64_t)bytes);
    struct op_context context = engine->context;
    enum assay_status st;

    context.pool = engine->pools[PLACE_DEVICE];
    context.tag = assay_scope_here();
    st = tensor_new(context.pool, DTYPE_U8, &shape, out, err);
    for (uint32_t i = 0; !st && i < graph_value_count(engine->graph); i++) {
        const struct tensor *made = &engine->values[i].made;
        struct tensor to;

        if (!places[i])
            continue;
        to = engine_gathered(made, places[i], out);
        st = math->convert(engine->backend, &context, made, &to, err);
    }
    return st;
}

/* The values that are there now have copies. */
static void few_arrived(struct engine *engine, const struct tensor *near)
{
    for (uint32_t i = 0; i < graph_value_count(engine->graph); i++) {
        struct engine_value *entry = &engine->values[i];
        struct tensor there;

        if (!engine->places[i])
            continue;
        there = engine_gathered(&entry->made, engine->places[i], near);
        tensor_release(&entry->copy);
        entry->copy = tensor_share(&there);
        entry->moved_bytes[PLACE_HOST] += tensor_bytes(&there);
        entry->moved_for[PLACE_HOST] = GRAPH_NONE;
    }
}

enum assay_status engine_bring_few(struct engine *engine, struct error *err)
{
    size_t n = graph_value_count(engine->graph), bytes;
    struct tensor together = {0}, near = {0};
    enum assay_status st;

    if (!engine->places)
        engine->places = mem_array(n, sizeof *engine->places);
    if (!engine->places)
        return error_nomem(err, n * sizeof *engine->places, "an engine");
    bytes = engine_gather_places(engine, engine->places);
    if (!bytes)
        return ASSAY_OK;
    st = engine_gather(engine, engine->places, bytes, &together, err);
    if (!st)
        st = tensor_copy(engine->pools[PLACE_HOST], &together, &near, err);
    if (!st)
        few_arrived(engine, &near);
    tensor_release(&together);
    tensor_release(&near);
    return st;
}
