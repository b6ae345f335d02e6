/* backend/cuda/cuda_padding.c - see cuda_internal.h: which maps are padded. */
#include "backend/cuda/cuda_plan.h"

#include "base/mem.h"
#include "ops/ops.h"

bool cuda_takes_padded(const struct op_class *op)
{
    static const struct op_class *const takers[] = {
        &op_conv2d,     &op_max_pool2d,
        &op_avg_pool2d, &op_adaptive_avg_pool2d,
        &op_concat,     &op_add,
        &op_relu,       &op_clip,
        &op_sigmoid,    &op_hard_sigmoid,
        &op_silu,       &op_hard_swish,
        &op_leaky_relu, &op_batch_norm_training};

    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        if (takers[i] == op)
            return true;
    }
    return false;
}

enum assay_status cuda_find_padded(struct cuda *cuda, struct error *err)
{
    const struct graph *graph = cuda->graph;
    size_t n = graph_value_count(graph);

    cuda->pads = mem_array(n, sizeof *cuda->pads);
    if (!cuda->pads)
        return error_nomem(err, n * sizeof *cuda->pads, "a backend");
    if (cuda->options.is_plain)
        return ASSAY_OK;
    for (size_t i = 0; i < n; i++)
        cuda->pads[i] = graph_use_count(graph, (uint32_t)i) > 0;
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);
        bool takes_padded = cuda_takes_padded(node->op);

        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE && !takes_padded)
                cuda->pads[node->inputs[k]] = false;
        }
    }
    for (size_t i = 0; i < graph_output_count(graph); i++)
        cuda->pads[graph_output_at(graph, i, NULL)] = false;
    return ASSAY_OK;
}

/* A single channel is left alone: it would become four or eight. */
static bool is_worth_padding(int64_t channels, enum dtype stored)
{
    return channels > 1 && channels % cuda_wide(stored) != 0;
}

bool cuda_pads_output(const struct cuda_call *call, const struct cuda_job *job)
{
    return job->groups == 1 && call->cuda->pads[call->node->outputs[0]] &&
           is_worth_padding(job->o, (enum dtype)job->made);
}

bool cuda_pads_value(const struct cuda *cuda, uint32_t value, int64_t channels,
                     enum dtype stored)
{
    return cuda->pads[value] && is_worth_padding(channels, stored);
}

bool cuda_pads_map(const struct cuda_call *call, const struct tensor *y)
{
    return y->dtype == DTYPE_F32 && y->shape.rank == 4 &&
           cuda_pads_value(call->cuda, call->node->outputs[0], y->shape.dims[1],
                           cuda_stored(y));
}
