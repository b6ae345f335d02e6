/* engine/f32_ops.c - see engine_internal.h: ops that know float32 alone, for
 * tensors of other types. */
#include "engine/engine_internal.h"

#include "tensor/convert.h"

static bool is_all_f32(const struct node *node,
                       const struct tensor *const *inputs)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && inputs[i]->dtype != DTYPE_F32)
            return false;
    }
    return true;
}

static enum assay_status
widen_inputs(struct engine *engine, const struct node *node,
             const struct tensor *const *inputs, struct tensor *copies,
             const struct tensor **wide, struct error *err)
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
        st =
            tensor_convert(engine->pool, inputs[i], DTYPE_F32, &copies[i], err);
        wide[i] = &copies[i];
    }
    return st;
}

/* The output in the type that the inputs had. */
static enum assay_status narrow_output(struct engine *engine, enum dtype dtype,
                                       struct tensor *output, struct error *err)
{
    struct backend *backend = engine->backend;
    struct tensor dense = {0}, narrow;
    enum assay_status st = ASSAY_OK;

    if (output->layout) {
        st = backend->class->to_dense(backend, &engine->context, output, &dense,
                                      err);
        if (st)
            return st;
        tensor_release(output);
        *output = dense;
    }
    st = tensor_convert(engine->pool, output, dtype, &narrow, err);
    if (st)
        return st;
    tensor_release(output);
    *output = narrow;
    return ASSAY_OK;
}

enum assay_status engine_run_f32(struct engine *engine, const struct node *node,
                                 size_t at, const struct tensor **inputs,
                                 struct tensor *outputs, struct error *err)
{
    struct tensor copies[ENGINE_MAX_INPUTS] = {{0}};
    const struct tensor *wide[ENGINE_MAX_INPUTS];
    enum dtype dtype = inputs[0]->dtype;
    enum assay_status st;

    if (is_all_f32(node, inputs))
        return engine_run_kernel(engine, node, at, inputs, outputs, err);
    st = widen_inputs(engine, node, inputs, copies, wide, err);
    if (!st)
        st = engine_run_kernel(engine, node, at, wide, outputs, err);
    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        if (outputs[i].dtype == DTYPE_F32)
            st = narrow_output(engine, dtype, &outputs[i], err);
    }
    for (size_t i = 0; i < node->n_inputs; i++)
        tensor_release(&copies[i]);
    return st;
}
