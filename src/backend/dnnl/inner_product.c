/* backend/dnnl/inner_product.c - Linear. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/linear.h"

/* Packed weights multiply a little faster, but take longer to pack. */
dnnl_memory_desc_t linear_weight(const struct onednn *dn,
                                 const struct shape *shape)
{
    return dn->options.is_training ? desc_dense(shape) : desc_any(shape);
}

/* Input and output stay dense: what comes before and after reads rows. */
static enum assay_status make_kernel(struct onednn *dn, const struct job *job,
                                     struct kernel **out, struct error *err)
{
    dnnl_memory_desc_t src = desc_dense(&job->x->shape);
    dnnl_memory_desc_t weights = linear_weight(dn, &job->weight->shape);
    dnnl_memory_desc_t dst = desc_dense(&job->y), bias;
    dnnl_inner_product_desc_t description;
    enum assay_status st;

    if (job->bias)
        bias = desc_dense(&job->bias->shape);
    st = onednn_status(dnnl_inner_product_forward_desc_init(
                           &description, job->kind, &src, &weights,
                           job->bias ? &bias : NULL, &dst),
                       "describe an inner product", err);
    if (!st)
        st = kernel_make(dn, job, &description, NULL, out, err);
    return st;
}

enum assay_status forward_linear(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    struct kernel *kernel;
    enum assay_status st;

    job->weight = inputs[LINEAR_WEIGHT];
    job->weight_value = job->node->inputs[LINEAR_WEIGHT];
    job->weight_desc = desc_dense(&job->weight->shape);
    job->bias = inputs[LINEAR_BIAS];
    job->has_relu = linear_attrs(job->node)->has_relu;
    kernel = kernel_find(dn, job);
    if (!kernel) {
        st = make_kernel(dn, job, &kernel, err);
        if (st)
            return st;
        kernel_keep(dn, job, kernel);
    }
    return kernel_run(dn, job, kernel, y, err);
}
