/* backend/dnnl/convolution.c - Conv2d. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/conv2d.h"

/* The weight as oneDNN counts its dimensions: groups first where there are
 * several. The memory is the same. */
static struct shape grouped(const struct shape *w, int64_t groups)
{
    if (groups == 1)
        return *w;
    return shape_of(5, groups, w->dims[0] / groups, w->dims[1], w->dims[2],
                    w->dims[3]);
}

static dnnl_status_t describe(const struct job *job, dnnl_alg_kind_t algorithm,
                              const dnnl_memory_desc_t *src,
                              const dnnl_memory_desc_t *dst,
                              dnnl_convolution_desc_t *out)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    struct shape w = grouped(&job->weight->shape, attrs->groups);
    dnnl_memory_desc_t weights = desc_any(&w), bias;
    dnnl_dims_t dilation = {attrs->dilation[0] - 1, attrs->dilation[1] - 1};
    struct dims before = dims_of(attrs->before, 2);
    struct dims after = dims_of(attrs->after, 2);
    const struct tensor *given =
        job->direction == DIRECTION_WEIGHTS ? job->bias_gradient : job->bias;

    if (job->is_band && job->direction == DIRECTION_FORWARD)
        before.of[0] = after.of[0] = 0;
    if (given)
        bias = desc_dense(&given->shape);
    switch (job->direction) {
    case DIRECTION_FORWARD:
        return dnnl_dilated_convolution_forward_desc_init(
            out, job->kind, algorithm, src, &weights, given ? &bias : NULL, dst,
            dims_of(attrs->stride, 2).of, dilation, before.of, after.of);
    case DIRECTION_DATA:
        return dnnl_dilated_convolution_backward_data_desc_init(
            out, algorithm, dst, &weights, src, dims_of(attrs->stride, 2).of,
            dilation, before.of, after.of);
    case DIRECTION_WEIGHTS:
        return dnnl_dilated_convolution_backward_weights_desc_init(
            out, algorithm, src, &weights, given ? &bias : NULL, dst,
            dims_of(attrs->stride, 2).of, dilation, before.of, after.of);
    case N_DIRECTIONS:
        break;
    }
    return dnnl_invalid_arguments;
}

/* A copy of the weights, scaled. */
static enum assay_status scale_weights(const struct job *job,
                                       struct tensor *out, struct error *err)
{
    int64_t channels = job->weight->shape.dims[0], each;
    enum assay_status st = tensor_new(job->context->pool, DTYPE_F32,
                                      &job->weight->shape, out, err);

    if (st)
        return st;
    each = (int64_t)tensor_elements(out) / channels;
#pragma omp parallel for
    for (int64_t c = 0; c < channels; c++) {
        const float *from = tensor_f32(job->weight) + c * each;
        float scale = tensor_f32(job->scale)[c], *to = tensor_f32(out);

        for (int64_t i = 0; i < each; i++)
            to[c * each + i] = from[i] * scale;
    }
    return ASSAY_OK;
}

static dnnl_status_t describe_conv2d(const struct job *job,
                                     dnnl_alg_kind_t algorithm,
                                     dnnl_convolution_desc_t *out)
{
    dnnl_memory_desc_t src = desc_any(&job->x->shape), dst = desc_any(&job->y);

    return describe(job, algorithm, &src, &dst, out);
}

/* A convolution of each channel for itself, left to choose, takes channels
 * last; between convolutions on blocked channels it has to be told that these
 * will do. */
static dnnl_status_t describe_depthwise(const struct job *job,
                                        dnnl_alg_kind_t algorithm,
                                        dnnl_convolution_desc_t *out)
{
    dnnl_memory_desc_t src = desc_of(job->x), dst;
    struct channel_blocks blocks;
    dnnl_status_t status;

    if (!layout_blocks(job->x, &blocks))
        return dnnl_unimplemented;
    status = dnnl_memory_desc_init_by_tag(&dst, 4, dims_of(job->y.dims, 4).of,
                                          dnnl_f32, blocks.tag);
    return status ? status : describe(job, algorithm, &src, &dst, out);
}

static bool is_depthwise(const struct job *job)
{
    int64_t groups = conv2d_attrs(job->node)->groups;

    return groups > 1 && groups == job->x->shape.dims[1] &&
           groups == job->y.dims[1];
}

static enum assay_status choose(struct onednn *dn, const struct job *job,
                                struct kernel **out, struct error *err)
{
    if (is_depthwise(job) && job->x->layout &&
        !tuning_choose(dn, job, describe_depthwise, out, NULL))
        return ASSAY_OK;
    return tuning_choose(dn, job, describe_conv2d, out, err);
}

enum assay_status conv2d_kernel(struct onednn *dn, const struct job *job,
                                struct kernel **out, struct error *err)
{
    enum assay_status st;

    *out = kernel_find(dn, job);
    if (*out)
        return ASSAY_OK;
    st = choose(dn, job, out, err);
    if (!st)
        kernel_keep(dn, job, *out);
    return st;
}

void conv2d_set_weight(struct job *job, const struct tensor *const *inputs)
{
    struct shape w =
        grouped(&inputs[CONV2D_WEIGHT]->shape, conv2d_attrs(job->node)->groups);

    job->weight = inputs[CONV2D_WEIGHT];
    job->weight_value = job->node->inputs[CONV2D_WEIGHT];
    job->weight_desc = desc_dense(&w);
    job->scale = conv2d_scale(job->node, inputs);
    if (job->scale) {
        job->scale_value = job->node->inputs[CONV2D_SCALE];
        job->prepare = scale_weights;
    }
}

enum assay_status forward_conv2d(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    struct kernel *kernel;
    enum assay_status st;

    conv2d_set_weight(job, inputs);
    job->bias = inputs[CONV2D_BIAS];
    job->residual = inputs[CONV2D_RESIDUAL];
    job->has_relu = attrs->has_relu;
    job->relu_limit = attrs->relu_limit;
    job->may_take_residual = job->residual &&
                             op_input_dies(job->context, CONV2D_RESIDUAL) &&
                             buffer_references(job->residual->buffer) == 1;
    st = conv2d_kernel(dn, job, &kernel, err);
    return st ? st : kernel_run(dn, job, kernel, y, err);
}
