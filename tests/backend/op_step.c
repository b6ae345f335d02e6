/* See op_step.h. */
#include "op_step.h"

#include "base/mem.h"

#include <assert.h>
#include <string.h>

uint64_t op_step_differentiable(const struct op_step *step)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < step->node->n_inputs; i++) {
        if (step->inputs[i] && step->inputs[i]->dtype == DTYPE_F32)
            bits |= (uint64_t)1 << i;
    }
    return bits;
}

static void release_outputs(struct op_step *step)
{
    for (size_t i = 0; i < OP_STEP_MAX; i++)
        tensor_release(&step->outputs[i]);
    memset(step->outputs, 0, sizeof step->outputs);
}

static enum assay_status
run(struct op_step *step, const struct op_context *context, struct error *err)
{
    const struct node *node = step->node;
    enum assay_status st = ASSAY_OK;

    assert(node->n_inputs <= OP_STEP_MAX && node->n_outputs <= OP_STEP_MAX);
    release_outputs(step);
    if (node->op->infer)
        st = node->op->infer(node, step->inputs, step->outputs, err);
    for (size_t i = 0;
         !st && node->op->infer && !node->op->is_view && i < node->n_outputs;
         i++) {
        struct shape shape = step->outputs[i].shape;

        st = tensor_new(context->pool, step->outputs[i].dtype, &shape,
                        &step->outputs[i], err);
    }
    if (!st)
        st = node->op->forward(context, node, step->inputs, step->outputs, err);
    return st;
}

enum assay_status op_step_forward(struct op_step *step,
                                  const struct op_context *context, bool saves,
                                  struct error *err)
{
    struct op_context training = *context;

    tensor_release(&step->saved);
    memset(&step->saved, 0, sizeof step->saved);
    training.saved = saves ? &step->saved : NULL;
    return run(step, &training, err);
}

enum assay_status op_step_again(struct op_step *step,
                                const struct op_context *context,
                                struct error *err)
{
    struct op_context again = *context;

    again.saved = &step->saved;
    again.is_again = true;
    return run(step, &again, err);
}

/* Type and shape; the data too where it is asked for. */
static struct tensor as_asked(const struct tensor *tensor, bool is_read)
{
    struct tensor seen = *tensor;

    if (!is_read)
        seen.buffer = NULL;
    return seen;
}

static enum assay_status make_gradient(const struct op_context *context,
                                       const struct tensor *of,
                                       struct tensor *dx, struct error *err)
{
    enum assay_status st =
        tensor_new(context->pool, DTYPE_F32, &of->shape, dx, err);

    if (!st)
        memset(tensor_data(dx), 0, tensor_bytes(dx));
    return st;
}

enum assay_status op_step_backward(const struct op_step *step,
                                   const struct op_context *context,
                                   const struct tensor *const *dy,
                                   uint64_t wanted, struct tensor *dx,
                                   struct error *err)
{
    const struct node *node = step->node;
    struct op_reads reads = {0};
    struct tensor inputs[OP_STEP_MAX], outputs[OP_STEP_MAX];
    const struct tensor *seen[OP_STEP_MAX] = {NULL};
    enum assay_status st = ASSAY_OK;

    if (node->op->backward_reads)
        reads = node->op->backward_reads(node, wanted);
    memset(dx, 0, OP_STEP_MAX * sizeof *dx);
    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        if (!step->inputs[i])
            continue;
        inputs[i] = as_asked(step->inputs[i], reads.inputs >> i & 1);
        seen[i] = &inputs[i];
        if (wanted >> i & 1)
            st = make_gradient(context, &inputs[i], &dx[i], err);
    }
    for (size_t i = 0; i < node->n_outputs; i++)
        outputs[i] = as_asked(&step->outputs[i], reads.outputs >> i & 1);
    if (!st)
        st = node->op->backward(context, node,
                                &(struct op_backward){.inputs = seen,
                                                      .outputs = outputs,
                                                      .saved = &step->saved,
                                                      .dy = dy,
                                                      .dx = dx,
                                                      .wanted = wanted},
                                err);
    return st;
}

void op_step_release(struct op_step *step)
{
    release_outputs(step);
    tensor_release(&step->saved);
    memset(&step->saved, 0, sizeof step->saved);
}

static void bind_inputs(const struct graph *graph, const struct tensor *values,
                        struct op_step *step)
{
    for (size_t i = 0; i < step->node->n_inputs; i++) {
        uint32_t value = step->node->inputs[i];

        step->inputs[i] = value == GRAPH_NONE ? NULL : &values[value];
        if (step->inputs[i] && !values[value].buffer)
            step->inputs[i] = &graph_value(graph, value)->data;
    }
}

enum assay_status
op_steps(const struct op_graph *made, const struct op_context *context,
         enum assay_status (*visit)(struct op_step *step, void *data,
                                    struct error *err),
         void *data, struct error *err)
{
    size_t n = graph_value_count(made->graph);
    struct tensor *values = mem_array(n, sizeof *values);
    enum assay_status st = ASSAY_OK;

    if (!values)
        return error_nomem(err, n * sizeof *values, "values of a case");
    for (size_t i = 0; i < graph_input_count(made->graph); i++)
        values[graph_input_at(made->graph, i)] = tensor_share(&made->inputs[i]);
    for (size_t i = 0; !st && i < graph_node_count(made->graph); i++) {
        struct op_step step = {.node = graph_node(made->graph, i)};

        bind_inputs(made->graph, values, &step);
        st = op_step_forward(&step, context, true, err);
        if (!st)
            st = visit(&step, data, err);
        for (size_t k = 0; !st && k < step.node->n_outputs; k++)
            values[step.node->outputs[k]] = tensor_share(&step.outputs[k]);
        op_step_release(&step);
    }
    for (size_t i = 0; i < n; i++)
        tensor_release(&values[i]);
    mem_free(values);
    return st;
}
