/* engine/not_finite.c - see engine.h: who made the first number that is none.
 */
#include "base/mem.h"
#include "engine/engine_internal.h"

#include <stdio.h>

struct watch {
    char *text;
    size_t size;
};

enum assay_status engine_watch(struct engine *engine, const struct node *node,
                               const struct tensor *made, size_t n,
                               const char *when, struct error *err)
{
    struct watch *watch = engine->watch;
    char name[ENGINE_NODE_TEXT];
    bool is_finite = true;
    enum assay_status st = ASSAY_OK;

    if (!watch || watch->text[0])
        return ASSAY_OK;
    for (size_t i = 0; !st && is_finite && i < n; i++) {
        enum place place = engine_is_in(engine, &made[i], PLACE_HOST)
                               ? PLACE_HOST
                               : PLACE_DEVICE;

        if (made[i].buffer && made[i].dtype == DTYPE_F32)
            st = engine_math(engine, place)
                     ->is_finite(engine->backend, &engine->context, &made[i],
                                 &is_finite, err);
    }
    if (!st && !is_finite)
        snprintf(watch->text, watch->size, "%s%s",
                 engine_node_text(engine, node, name, sizeof name), when);
    return st;
}

enum assay_status engine_find_not_finite(struct engine *engine,
                                         const struct tensor *inputs,
                                         char *text, size_t size,
                                         struct error *err)
{
    size_t n = graph_output_count(engine->graph);
    struct tensor *outputs = mem_array(n, sizeof *outputs);
    struct watch watch = {.text = text, .size = size};
    enum assay_status st;

    text[0] = 0;
    if (!outputs)
        return error_nomem(err, n * sizeof *outputs, "a step's outputs");
    engine->watch = &watch;
    st = engine_run(engine, inputs, outputs, err);
    if (!st && !text[0])
        st = engine_backward(engine, err);
    engine->watch = NULL;
    for (size_t i = 0; i < n; i++)
        tensor_release(&outputs[i]);
    mem_free(outputs);
    return st;
}
