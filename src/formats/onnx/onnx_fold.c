/* formats/onnx/onnx_fold.c - see onnx_frame_internal.h: computes nodes that
 * depend only on constants, once.
 *
 * Exporters write shapes and reordered weights as small graphs of their own.
 * Once they are constants, backends can repack them and more shapes are
 * known. */
#include "formats/onnx/onnx_frame_internal.h"

#include "ops/ops.h"
#include "ops/product/quantize.h"

#include <stddef.h>

enum { max_values = 64 }; /* inputs or outputs of a node */

static const size_t usual_bytes = (size_t)1 << 30;

/* Whether every input has its data, in a type that the kernel takes. */
static bool onnx_fold_find_inputs(const struct onnx_call *call,
                                  const struct node_description *description,
                                  const struct tensor **inputs)
{
    bool has_any = false;

    if (description->n_bodies || description->n_inputs > max_values ||
        description->n_outputs > max_values)
        return false;
    for (size_t i = 0; i < description->n_inputs; i++) {
        inputs[i] = onnx_constant(call, description->inputs[i]);
        if (!inputs[i] && description->inputs[i] != GRAPH_NONE)
            return false;
        if (inputs[i] && description->op->is_f32 &&
            inputs[i]->dtype != DTYPE_F32)
            return false;
        if (inputs[i] && description->op->infer &&
            inputs[i]->dtype == DTYPE_SEQUENCE)
            return false;
        has_any |= inputs[i] != NULL;
    }
    return has_any;
}

/* Long computations are left to the backends: a product of two weights is worth
 * computing once, but not for minutes. */
static bool is_costly(const struct node *node,
                      const struct tensor *const *inputs,
                      const struct tensor *outputs)
{
    const uint64_t most = UINT64_C(1) << 30;
    struct cost cost = {0};

    if (node->op->cost)
        node->op->cost(node, inputs, outputs, &cost);
    return cost.macs > most || cost.flops > most;
}

/* Allocates the outputs; false if they, or all that was folded so far, would be
 * too large: a few nodes can ask for any amount, which a run would release as
 * it goes. */
static bool onnx_fold_make_outputs(const struct onnx_call *call,
                                   const struct node *node,
                                   const struct tensor *const *inputs,
                                   struct tensor *outputs)
{
    struct onnx_importer *importer = call->frame->importer;
    size_t most = importer->options->max_folded_bytes, total = 0;

    if (node->op->infer(node, inputs, outputs, NULL))
        return false;
    for (size_t i = 0; i < node->n_outputs; i++) {
        size_t n;

        if (!shape_elements(&outputs[i].shape, &n) || n > usual_bytes)
            return false;
        total += n * dtype_bytes(outputs[i].dtype);
    }
    most = most ? most : usual_bytes;
    if (total > most || importer->folded_bytes > most - total ||
        is_costly(node, inputs, outputs))
        return false;
    if (!node->op->is_view)
        importer->folded_bytes += total;
    for (size_t i = 0; !node->op->is_view && i < node->n_outputs; i++) {
        struct shape shape = outputs[i].shape;

        if (tensor_new(onnx_pool(call), outputs[i].dtype, &shape, &outputs[i],
                       NULL))
            return false;
    }
    return true;
}

/* Passes can still run it on integers. */
static void onnx_fold_note(const struct onnx_call *call,
                           const struct node_description *description,
                           uint32_t made)
{
    const struct quantize_attrs *attrs = description->attrs;
    struct dequantised from = {.zero = GRAPH_NONE};

    if (description->op != &op_dequantize_linear || attrs->block)
        return;
    from.quantised = description->inputs[0];
    from.scale = description->inputs[1];
    if (description->n_inputs > 2)
        from.zero = description->inputs[2];
    from.axis = attrs->axis;
    graph_note_dequantised(call->frame->target->graph, made, &from);
}

bool onnx_fold(struct onnx_call *call,
               const struct node_description *description, uint32_t *outputs)
{
    static const max_align_t no_attrs[16];
    struct op_context context = {.pool = onnx_pool(call), .n_threads = 1};
    const struct tensor *inputs[max_values];
    struct tensor made[max_values] = {{0}};
    struct node node = {
        .op = description->op,
        .attrs = (void *)(description->attrs ? description->attrs : no_attrs),
        .scope = GRAPH_NONE,
        .name = "",
        .inputs = (uint32_t *)description->inputs,
        .n_inputs = description->n_inputs,
        .n_outputs = description->n_outputs};
    bool is_made;

    if (!onnx_fold_find_inputs(call, description, inputs) ||
        (!description->attrs && node.op->attrs_bytes > sizeof no_attrs))
        return false;
    is_made =
        !node.op->infer || onnx_fold_make_outputs(call, &node, inputs, made);
    if (is_made)
        is_made = !node.op->forward(&context, &node, inputs, made, NULL);
    for (size_t i = 0; i < node.n_outputs; i++) {
        if (is_made && !call->st)
            outputs[i] = onnx_new_constant(call, made[i]);
        else
            tensor_release(&made[i]);
    }
    if (is_made && !call->st)
        onnx_fold_note(call, description, outputs[0]);
    return is_made;
}
