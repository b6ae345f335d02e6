/* backend/dnnl/conv_backward.c - gradients of Conv2d. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/conv2d.h"

/* Weights were multiplied by a scale on their way in: so is their gradient. */
static void scale_gradient(const struct job *job, const struct tensor *dw)
{
    int64_t channels = dw->shape.dims[0];
    int64_t each = (int64_t)tensor_elements(dw) / channels;
    const float *scale = tensor_f32(job->scale);
    float *to = tensor_f32(dw);

#pragma omp parallel for
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = 0; i < each; i++)
            to[c * each + i] *= scale[c];
    }
}

static enum assay_status to_weights(struct onednn *dn, struct job job,
                                    const struct op_backward *pass,
                                    const struct tensor *dy, struct error *err)
{
    struct tensor *db = &pass->dx[CONV2D_BIAS];
    struct kernel *kernel;
    struct tensor dw;
    enum assay_status st = ASSAY_OK;

    job.direction = DIRECTION_WEIGHTS;
    job.x = pass->inputs[CONV2D_X];
    job.dy = dy;
    job.y = dy->shape;
    if (op_wants(pass, CONV2D_BIAS)) {
        st = tensor_new(job.context->pool, DTYPE_F32,
                        &pass->inputs[CONV2D_BIAS]->shape, db, err);
        job.bias_gradient = db;
    }
    if (!st)
        st = conv2d_kernel(dn, &job, &kernel, err);
    if (!st)
        st = kernel_run(dn, &job, kernel, &dw, err);
    if (st)
        return st;
    if (job.scale)
        scale_gradient(&job, &dw);
    if (op_wants(pass, CONV2D_WEIGHT))
        pass->dx[CONV2D_WEIGHT] = dw;
    else
        tensor_release(&dw);
    return ASSAY_OK;
}

static enum assay_status to_data(struct onednn *dn, struct job job,
                                 const struct op_backward *pass,
                                 const struct tensor *dy, struct error *err)
{
    struct kernel *kernel;
    enum assay_status st;

    job.direction = DIRECTION_DATA;
    job.x = dy;
    job.y = pass->inputs[CONV2D_X]->shape;
    st = conv2d_kernel(dn, &job, &kernel, err);
    return st ? st : kernel_run(dn, &job, kernel, &pass->dx[CONV2D_X], err);
}

struct op_reads reads_conv2d(const struct node *node, uint64_t wanted)
{
    const uint64_t to_parameters = 1 << CONV2D_WEIGHT | 1 << CONV2D_BIAS;
    struct op_reads reads = {.outputs = conv2d_attrs(node)->has_relu};

    if (wanted & 1 << CONV2D_X)
        reads.inputs |= 1 << CONV2D_WEIGHT;
    if (wanted & to_parameters)
        reads.inputs |= 1 << CONV2D_X;
    if (wanted && node->n_inputs > CONV2D_SCALE)
        reads.inputs |= 1 << CONV2D_SCALE;
    return reads;
}

enum assay_status backward_conv2d(struct onednn *dn, struct job *job,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    struct tensor dy = {0};
    enum assay_status st = gradient_before_relu(dn, job, pass, attrs->has_relu,
                                                attrs->relu_limit, &dy, err);

    conv2d_set_weight(job, pass->inputs);
    if (!st && (op_wants(pass, CONV2D_WEIGHT) || op_wants(pass, CONV2D_BIAS)))
        st = to_weights(dn, *job, pass, &dy, err);
    if (!st && op_wants(pass, CONV2D_X))
        st = to_data(dn, *job, pass, &dy, err);
    if (!st && op_wants(pass, CONV2D_RESIDUAL))
        pass->dx[CONV2D_RESIDUAL] = tensor_share(&dy);
    tensor_release(&dy);
    return st;
}
