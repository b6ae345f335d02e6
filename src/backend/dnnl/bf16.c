/* backend/dnnl/bf16.c - convolutions and inner products of bf16, with sums of
 * float32.
 *
 * A map that a kernel stores in bf16 is one of float32 to everybody else: its
 * layout alone tells. Ops that have no kernel for it get a copy. */
#include "backend/dnnl/dnnl_internal.h"

#include "base/mem.h"
#include "ops/convolution/conv2d.h"
#include "ops/ops.h"
#include "tensor/half.h"

bool bf16_takes(const struct node *node)
{
    static const struct op_class *const ops[] = {
        &op_conv2d,    &op_linear, &op_max_pool2d, &op_resize_nearest,
        &op_roi_align, &op_add,    &op_anchor_grid};
    size_t i = 0;

    while (i < sizeof ops / sizeof *ops && ops[i] != node->op)
        i++;
    return i < sizeof ops / sizeof *ops;
}

/* Whoever reads the other one has to convert it. */
static void bf16_mark(struct onednn *dn, int *balance)
{
    for (size_t i = 0; i < graph_node_count(dn->graph); i++) {
        const struct node *node = graph_node(dn->graph, i);
        int step = bf16_takes(node) && node->op != &op_linear ? 1 : -1;

        if (node->op == &op_anchor_grid)
            continue; /* reads no data */
        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] != GRAPH_NONE)
                balance[node->inputs[k]] += step;
        }
    }
    for (size_t i = 0; i < graph_output_count(dn->graph); i++)
        balance[graph_output_at(dn->graph, i, NULL)]--;
    for (size_t i = 0; i < graph_value_count(dn->graph); i++)
        dn->narrow[i] = balance[i] > 0;
}

enum assay_status bf16_start(struct onednn *dn, struct error *err)
{
    size_t n = graph_value_count(dn->graph);
    int *balance;

    if (dn->options.precision != PRECISION_BF16)
        return ASSAY_OK;
    if (dn->options.is_training)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "training in bf16 is not built for processors; use "
                         "fp32");
    if (!onednn_has_bf16())
        return error_set(err, ASSAY_UNSUPPORTED,
                         "there are no instructions for bf16 here: it takes "
                         "AVX512_BF16 or AMX, within what ASSAY_CPU allows; "
                         "use fp32");
    balance = mem_array(n, sizeof *balance);
    dn->narrow = mem_array(n, sizeof *dn->narrow);
    if (!balance || !dn->narrow) {
        mem_free(balance);
        return error_nomem(err, n * sizeof *balance, "the values of a model");
    }
    bf16_mark(dn, balance);
    mem_free(balance);
    return ASSAY_OK;
}

enum dtype bf16_factors(const struct onednn *dn)
{
    return dn->narrow ? DTYPE_BF16 : DTYPE_F32;
}

enum dtype bf16_result(const struct onednn *dn, const struct job *job)
{
    return dn->narrow && dn->narrow[job->node->outputs[0]] ? DTYPE_BF16
                                                           : DTYPE_F32;
}

enum assay_status bf16_widen(struct onednn *dn, const struct job *job,
                             const struct tensor *const *inputs,
                             struct tensor *own, const struct tensor **list,
                             struct error *err)
{
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; i < job->node->n_inputs; i++)
        own[i] = (struct tensor){0};
    for (size_t i = 0; !st && i < job->node->n_inputs; i++) {
        const struct tensor *x = inputs[i];

        list[i] = x;
        if (!x || !x->layout || x->layout->dtype != DTYPE_BF16)
            continue;
        st = layout_convert(dn, job->context->pool, x,
                            layout_ordered(dn, &x->shape, x->layout->order),
                            &own[i], err);
        list[i] = &own[i];
    }
    return st;
}

void bf16_add(const uint16_t *a, const uint16_t *b, uint16_t *to, size_t n)
{
#pragma omp parallel for if (n > parallel_elements)
    for (size_t i = 0; i < n; i++)
        to[i] =
            bfloat_from_float(bfloat_to_float(a[i]) + bfloat_to_float(b[i]));
}
