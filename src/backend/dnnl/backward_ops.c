/* backend/dnnl/backward_ops.c - which ops there are backward kernels for. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/norm/batch_norm.h"
#include "ops/ops.h"

#include <string.h>

static struct op_reads reads_output(const struct node *node, uint64_t wanted)
{
    (void)node;
    return (struct op_reads){.outputs = wanted != 0};
}

static struct op_reads reads_as_portable(const struct node *node,
                                         uint64_t wanted)
{
    return node->op->backward_reads(node, wanted);
}

/* NULL for reads: it needs nothing but the gradient of its output. */
static const struct {
    const struct op_class *op;
    onednn_backward *backward;
    struct op_reads (*reads)(const struct node *node, uint64_t wanted);
} kernels[] = {
    {&op_conv2d, backward_conv2d, reads_conv2d},
    {&op_conv_transpose2d, backward_conv_transpose2d, reads_conv_transpose2d},
    {&op_linear, backward_linear, reads_linear},
    {&op_max_pool2d, backward_max_pool2d, NULL},
    {&op_avg_pool2d, backward_avg_pool2d, NULL},
    {&op_adaptive_avg_pool2d, backward_adaptive_avg_pool2d, NULL},
    {&op_relu, backward_relu, reads_output},
    {&op_clip, backward_clip, reads_output},
    {&op_sigmoid, backward_activation, reads_as_portable},
    {&op_silu, backward_activation, reads_as_portable},
    {&op_leaky_relu, backward_activation, reads_as_portable},
    {&op_hard_swish, backward_activation, reads_as_portable},
    {&op_mish, backward_activation, reads_as_portable},
    {&op_elu, backward_activation, reads_as_portable},
    {&op_gelu, backward_activation, reads_as_portable},
    {&op_tanh, backward_activation, reads_as_portable},
    {&op_add, backward_add, NULL},
    {&op_mul, backward_mul, reads_mul},
    {&op_concat, backward_concat, NULL},
    {&op_resize_nearest, backward_resize_nearest, NULL},
    {&op_roi_align, backward_roi_align, reads_as_portable},
    {&op_dropout, backward_dropout, NULL},
    {&op_batch_norm, backward_batch_norm, reads_batch_norm},
    {&op_batch_norm_training, backward_batch_norm_training,
     reads_batch_norm_training},
};

enum { n_kernels = sizeof kernels / sizeof *kernels };

static size_t backward_find_kernel(const struct node *node)
{
    size_t i = 0;

    while (i < n_kernels && kernels[i].op != node->op)
        i++;
    return i;
}

bool onednn_can_backward(const struct backend *backend, const struct node *node)
{
    if (node->op == &op_batch_norm && batch_norm_attrs(node)->has_relu)
        return false;
    return onednn_has_kernel((const struct onednn *)backend, node) &&
           backward_find_kernel(node) < n_kernels;
}

struct op_reads onednn_backward_reads(const struct backend *backend,
                                      const struct node *node, uint64_t wanted)
{
    size_t found = backward_find_kernel(node);

    (void)backend;
    return kernels[found].reads ? kernels[found].reads(node, wanted)
                                : (struct op_reads){0};
}

static enum assay_status make_zeros(const struct op_context *context,
                                    const struct node *node,
                                    const struct op_backward *pass,
                                    struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < node->n_inputs; i++) {
        if (!op_wants(pass, i))
            continue;
        st = tensor_new(context->pool, DTYPE_F32, &pass->inputs[i]->shape,
                        &pass->dx[i], err);
        if (!st)
            memset(tensor_data(&pass->dx[i]), 0, tensor_bytes(&pass->dx[i]));
    }
    return st;
}

enum assay_status onednn_run_backward(struct backend *backend,
                                      const struct op_context *context,
                                      const struct node *node, size_t at,
                                      const struct op_backward *pass,
                                      struct error *err)
{
    struct onednn *dn = (struct onednn *)backend;
    struct job job = {
        .node = node, .at = at, .context = context, .scale_value = GRAPH_NONE};
    enum assay_status st;

    onednn_enter(dn);
    if (!pass->dy[0] || tensor_elements(pass->dy[0]) == 0)
        st = make_zeros(context, node, pass, err);
    else
        st = kernels[backward_find_kernel(node)].backward(dn, &job, pass, err);
    for (size_t i = 0; st && i < node->n_inputs; i++) {
        if (op_wants(pass, i))
            tensor_release(&pass->dx[i]);
    }
    return st;
}
