/* engine/not_finite.c - see engine.h: who made the first number that is none.
 */
#include "base/mem.h"
#include "engine/engine_internal.h"

#include <math.h>
#include <stdio.h>

struct watch {
    char *text;
    size_t size;
};

/* Padding of layouts is looked at too: kernels keep it at zero. */
static bool is_finite(const struct tensor *tensor)
{
    const float *x;
    size_t n;

    if (!tensor->buffer || tensor->dtype != DTYPE_F32)
        return true;
    x = tensor_f32(tensor);
    n = tensor_elements(tensor);
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return false;
    }
    return true;
}

void engine_watch(struct engine *engine, const struct node *node,
                  const struct tensor *made, size_t n, const char *when)
{
    struct watch *watch = engine->watch;
    char name[ENGINE_NODE_TEXT];

    if (!watch || watch->text[0])
        return;
    for (size_t i = 0; i < n; i++) {
        if (is_finite(&made[i]))
            continue;
        snprintf(watch->text, watch->size, "%s%s",
                 engine_node_text(engine, node, name, sizeof name), when);
        return;
    }
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
