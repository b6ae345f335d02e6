/* ops/widen.c - see widen_internal.h. */
#include "ops/widen_internal.h"

#include "tensor/convert.h"

#include <assert.h>

static bool is_wide(enum dtype dtype)
{
    return dtype == DTYPE_BOOL || dtype_wide(dtype) == dtype;
}

static enum assay_status
widen_inputs(const struct op_context *context, const struct node *node,
             const struct tensor *const *inputs, struct tensor *copies,
             const struct tensor **wide, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        wide[i] = inputs[i];
        if (!inputs[i] || is_wide(inputs[i]->dtype))
            continue;
        st = tensor_convert(context->pool, inputs[i],
                            dtype_wide(inputs[i]->dtype), &copies[i], err);
        wide[i] = &copies[i];
    }
    return st;
}

static enum assay_status widen_outputs(const struct op_context *context,
                                       const struct node *node,
                                       const struct tensor *outputs,
                                       struct tensor *wide, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        if (is_wide(outputs[i].dtype))
            wide[i] = tensor_share(&outputs[i]);
        else
            st = tensor_new(context->pool, dtype_wide(outputs[i].dtype),
                            &outputs[i].shape, &wide[i], err);
    }
    return st;
}

static void widen_narrow(const struct node *node, const struct tensor *wide,
                         struct tensor *outputs)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (!is_wide(outputs[i].dtype))
            convert_elements(wide[i].dtype, tensor_data(&wide[i]),
                             outputs[i].dtype, tensor_data(&outputs[i]),
                             tensor_elements(&outputs[i]));
    }
}

static bool is_all_wide(const struct node *node,
                        const struct tensor *const *inputs,
                        const struct tensor *outputs)
{
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (inputs[i] && !is_wide(inputs[i]->dtype))
            return false;
    }
    for (size_t i = 0; i < node->n_outputs; i++) {
        if (!is_wide(outputs[i].dtype))
            return false;
    }
    return true;
}

enum assay_status widen_run(op_kernel *kernel, const struct op_context *context,
                            const struct node *node,
                            const struct tensor *const *inputs,
                            struct tensor *outputs, struct error *err)
{
    struct tensor copies[OP_MAX_VALUES], results[OP_MAX_VALUES];
    const struct tensor *wide[OP_MAX_VALUES];
    enum assay_status st;

    assert(node->n_inputs <= OP_MAX_VALUES && node->n_outputs <= OP_MAX_VALUES);
    if (is_all_wide(node, inputs, outputs))
        return kernel(context, node, inputs, outputs, err);
    for (size_t i = 0; i < node->n_inputs; i++)
        copies[i] = (struct tensor){0};
    for (size_t i = 0; i < node->n_outputs; i++)
        results[i] = (struct tensor){0};
    st = widen_inputs(context, node, inputs, copies, wide, err);
    if (!st)
        st = widen_outputs(context, node, outputs, results, err);
    if (!st)
        st = kernel(context, node, wide, results, err);
    if (!st)
        widen_narrow(node, results, outputs);
    for (size_t i = 0; i < node->n_inputs; i++)
        tensor_release(&copies[i]);
    for (size_t i = 0; i < node->n_outputs; i++)
        tensor_release(&results[i]);
    return st;
}
