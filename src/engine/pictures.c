/* engine/pictures.c - see engine.h: photographs that come as 8-bit pixels, a
 * quarter of the bytes, become float32 on the device. */
#include "engine/engine_internal.h"

bool engine_takes_pictures(const struct engine *engine)
{
    return engine->takes_pictures;
}

void engine_pictures_init(struct engine *engine)
{
    engine->takes_pictures = engine_is_far(engine) && !engine->tape &&
                             backend_math(engine->backend)->spread;
}

bool engine_is_picture(const struct engine *engine, size_t input,
                       const struct tensor *given)
{
    const struct graph *graph = engine->graph;
    const struct value *value =
        graph_value(graph, graph_input_at(graph, input));

    return given->dtype == DTYPE_U8 && value->dtype == DTYPE_F32 &&
           given->shape.rank == 3 && given->shape.dims[2] == 3 &&
           engine_takes_pictures(engine);
}

struct shape engine_picture_shape(const struct tensor *picture)
{
    return shape_of(3, (int64_t)3, picture->shape.dims[0],
                    picture->shape.dims[1]);
}

/* Who reads the value first, for messages. */
static uint32_t picture_reader(const struct graph *graph, uint32_t value)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] == value)
                return (uint32_t)i;
        }
    }
    return GRAPH_NONE;
}

static enum assay_status picture_spread(struct engine *engine, uint32_t value,
                                        struct error *err)
{
    struct engine_value *entry = &engine->values[value];
    struct op_context context = engine->context;
    struct shape shape = engine_picture_shape(&entry->made);
    struct tensor planes = {0};
    const struct tensor *there;
    enum assay_status st =
        engine_bring(engine, value, PLACE_DEVICE,
                     picture_reader(engine->graph, value), &there, err);

    context.pool = engine->pools[PLACE_DEVICE];
    context.tag = assay_scope_here();
    if (!st)
        st = tensor_new(context.pool, DTYPE_F32, &shape, &planes, err);
    if (!st)
        st = backend_math(engine->backend)
                 ->spread(engine->backend, &context, there, &planes, err);
    if (st) {
        tensor_release(&planes);
        return st;
    }
    engine_drop(engine, value);
    entry->made = planes;
    return ASSAY_OK;
}

static bool has_picture(const struct engine *engine)
{
    for (size_t i = 0; i < graph_input_count(engine->graph); i++) {
        uint32_t value = graph_input_at(engine->graph, i);

        if (engine_is_picture(engine, i, &engine->values[value].made))
            return true;
    }
    return false;
}

/* In a span of its own, which the copies and kernels for it belong to. */
enum assay_status engine_spread_pictures(struct engine *engine,
                                         struct error *err)
{
    enum assay_status st = ASSAY_OK;
    uint32_t owner;

    if (!engine_is_far(engine) || !has_picture(engine))
        return ASSAY_OK;
    assay_begin_class("photographs", "Copy");
    owner = engine_set_owner(engine, OWNER_IMAGES);
    engine_launching(engine, assay_scope_here());
    for (size_t i = 0; !st && i < graph_input_count(engine->graph); i++) {
        uint32_t value = graph_input_at(engine->graph, i);

        if (engine_is_picture(engine, i, &engine->values[value].made))
            st = picture_spread(engine, value, err);
    }
    engine_launching(engine, 0);
    engine_set_owner(engine, owner);
    assay_end();
    return st;
}
