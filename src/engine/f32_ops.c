/* engine/f32_ops.c - see engine_internal.h: ops that know float32 alone, for
 * tensors of other types. */
#include "engine/engine_internal.h"

bool engine_needs_f32(const struct node *node,
                      const struct tensor *const *inputs)
{
    if (!node->op->is_f32)
        return false;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->dtype != DTYPE_F32)
            return true;
    }
    return false;
}

/* A dense tensor of another type in the same place. */
static enum assay_status f32_convert(struct engine *engine, enum place place,
                                     const struct tensor *from,
                                     enum dtype dtype, struct tensor *out,
                                     struct error *err)
{
    enum assay_status st =
        tensor_new(engine->pools[place], dtype, &from->shape, out, err);

    return st ? st
              : engine_math(engine, place)
                    ->convert(engine->backend, &engine->context, from, out,
                              err);
}

static enum assay_status
f32_widen_inputs(struct engine *engine, const struct node *node,
                 enum place place, const struct tensor *const *inputs,
                 struct tensor *copies, const struct tensor **wide,
                 struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        wide[i] = inputs[i];
        if (!inputs[i] || inputs[i]->dtype == DTYPE_F32)
            continue;
        if (!dtype_fits_f32(inputs[i]->dtype))
            return error_set(err, ASSAY_UNSUPPORTED,
                             "input %zu is %s, which it does not compute", i,
                             dtype_name(inputs[i]->dtype));
        if (inputs[i]->layout)
            st = engine_make_dense(engine,
                                   &engine->values[node->inputs[i]].made, err);
        if (!st)
            st = f32_convert(engine, place, inputs[i], DTYPE_F32, &copies[i],
                             err);
        wide[i] = &copies[i];
    }
    return st;
}

/* The output in the type that the inputs had. */
static enum assay_status narrow_output(struct engine *engine, enum place place,
                                       enum dtype dtype, struct tensor *output,
                                       struct error *err)
{
    struct tensor narrow = {0};
    enum assay_status st = engine_make_dense(engine, output, err);

    if (!st)
        st = f32_convert(engine, place, output, dtype, &narrow, err);
    if (st) {
        tensor_release(&narrow);
        return st;
    }
    tensor_release(output);
    *output = narrow;
    return ASSAY_OK;
}

enum assay_status engine_run_f32(struct engine *engine, size_t at,
                                 enum place place, const struct tensor **inputs,
                                 struct tensor *outputs, struct error *err)
{
    const struct node *node = graph_node(engine->graph, at);
    struct tensor copies[OP_MAX_VALUES];
    const struct tensor *wide[OP_MAX_VALUES];
    enum dtype dtype = inputs[0]->dtype;
    enum assay_status st;

    for (size_t i = 0; i < node->n_inputs; i++)
        copies[i] = (struct tensor){0};
    st = f32_widen_inputs(engine, node, place, inputs, copies, wide, err);
    if (!st)
        st = engine_run_kernel(engine, at, place, wide, outputs, err);
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        if (outputs[i].dtype == DTYPE_F32)
            st = narrow_output(engine, place, dtype, &outputs[i], err);
    }
    for (size_t i = 0; i < node->n_inputs; i++)
        tensor_release(&copies[i]);
    return st;
}
