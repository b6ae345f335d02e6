/* backend/dnnl/linear_backward.c - gradients of Linear. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/linear.h"

static enum assay_status make_kernel(struct onednn *dn, const struct job *job,
                                     struct kernel **out, struct error *err)
{
    dnnl_memory_desc_t src = desc_dense(&job->x->shape);
    dnnl_memory_desc_t weights = desc_any(&job->weight->shape);
    dnnl_memory_desc_t dst = desc_dense(&job->y), bias;
    dnnl_inner_product_desc_t description;
    dnnl_status_t status;
    enum assay_status st;

    if (job->bias_gradient)
        bias = desc_dense(&job->bias_gradient->shape);
    if (job->direction == DIRECTION_DATA)
        status = dnnl_inner_product_backward_data_desc_init(&description, &dst,
                                                            &weights, &src);
    else
        status = dnnl_inner_product_backward_weights_desc_init(
            &description, &src, &weights, job->bias_gradient ? &bias : NULL,
            &dst);
    st = onednn_status(status, "describe a gradient of an inner product", err);
    if (!st)
        st = kernel_make(dn, job, &description, NULL, out, err);
    return st;
}

static enum assay_status run(struct onednn *dn, const struct job *job,
                             struct tensor *out, struct error *err)
{
    struct kernel *kernel = kernel_find(dn, job);
    enum assay_status st = ASSAY_OK;

    if (!kernel) {
        st = make_kernel(dn, job, &kernel, err);
        if (st)
            return st;
        kernel_keep(dn, job, kernel);
    }
    return kernel_run(dn, job, kernel, out, err);
}

static enum assay_status to_weights(struct onednn *dn, struct job job,
                                    const struct op_backward *pass,
                                    const struct tensor *dy, struct error *err)
{
    struct tensor dw;
    enum assay_status st = ASSAY_OK;

    job.direction = DIRECTION_WEIGHTS;
    job.x = pass->inputs[LINEAR_X];
    job.dy = dy;
    job.y = dy->shape;
    if (op_wants(pass, LINEAR_BIAS)) {
        job.bias_gradient = &pass->dx[LINEAR_BIAS];
        st = tensor_new(job.context->pool, DTYPE_F32,
                        &pass->inputs[LINEAR_BIAS]->shape, job.bias_gradient,
                        err);
    }
    if (!st)
        st = run(dn, &job, &dw, err);
    if (st)
        return st;
    if (op_wants(pass, LINEAR_WEIGHT))
        pass->dx[LINEAR_WEIGHT] = dw;
    else
        tensor_release(&dw);
    return ASSAY_OK;
}

struct op_reads reads_linear(const struct node *node, uint64_t wanted)
{
    struct op_reads reads = {.outputs = linear_attrs(node)->has_relu};

    if (wanted & 1 << LINEAR_X)
        reads.inputs |= 1 << LINEAR_WEIGHT;
    if (wanted & (1 << LINEAR_WEIGHT | 1 << LINEAR_BIAS))
        reads.inputs |= 1 << LINEAR_X;
    return reads;
}

enum assay_status backward_linear(struct onednn *dn, struct job *job,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    struct tensor dy = {0};
    enum assay_status st = gradient_before_relu(
        dn, job, pass, linear_attrs(job->node)->has_relu, 0, &dy, err);

    job->weight = pass->inputs[LINEAR_WEIGHT];
    job->weight_value = job->node->inputs[LINEAR_WEIGHT];
    job->weight_desc = desc_dense(&job->weight->shape);
    if (!st && (op_wants(pass, LINEAR_WEIGHT) || op_wants(pass, LINEAR_BIAS)))
        st = to_weights(dn, *job, pass, &dy, err);
    if (!st && op_wants(pass, LINEAR_X)) {
        job->direction = DIRECTION_DATA;
        job->x = &dy;
        job->y = pass->inputs[LINEAR_X]->shape;
        st = run(dn, job, &pass->dx[LINEAR_X], err);
    }
    tensor_release(&dy);
    return st;
}
