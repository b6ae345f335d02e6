/* backend/dnnl/convolution.c - Conv2d. */
#include "backend/dnnl/grouped.h"

#include "backend/winograd/winograd.h"
#include "ops/convolution/conv2d.h"

/* The weight as oneDNN counts its dimensions: groups first where there are
 * several. The memory is the same. */
static struct shape grouped(const struct shape *w, int64_t groups)
{
    if (groups == 1)
        return *w;
    return shape_of(5, groups, w->dims[0] / groups, w->dims[1], w->dims[2],
                    w->dims[3]);
}

static void describe(struct onednn *dn, const struct job *job,
                     const struct layout *src, const struct layout *dst,
                     struct operation *out)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);
    struct shape w = grouped(&job->weight->shape, attrs->groups);
    const struct tensor *bias =
        job->direction == DIRECTION_WEIGHTS ? job->bias_gradient : job->bias;

    *out = (struct operation){
        .kind = OPERATION_CONVOLUTION,
        .src = src,
        .weights = layout_typed(dn, bf16_factors(dn), &w, ORDER_ANY),
        .dst = dst};
    if (bias)
        out->bias = layout_dense(dn, &bias->shape);
    for (int i = 0; i < 2; i++) {
        out->stride[i] = attrs->stride[i];
        out->gaps[i] = attrs->dilation[i] - 1;
        out->before[i] = attrs->before[i];
        out->after[i] = attrs->after[i];
    }
    if (job->is_band && job->direction == DIRECTION_FORWARD)
        out->before[0] = out->after[0] = 0;
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

static bool describe_conv2d(struct onednn *dn, const struct job *job,
                            struct operation *out)
{
    describe(dn, job,
             layout_typed(dn, bf16_factors(dn), &job->x->shape, ORDER_ANY),
             layout_typed(dn, bf16_result(dn, job), &job->y, ORDER_ANY), out);
    return true;
}

/* Blocks as wide as the processor's vectors: for others the library has plain
 * code alone. */
static const struct layout *depthwise_src(struct onednn *dn,
                                          const struct job *job)
{
    const struct layout *src = layout_of(dn, job->x);

    if ((src->order != ORDER_BLOCKS_OF_4 && src->order != ORDER_BLOCKS_OF_8) ||
        !winograd_lanes())
        return src;
    return layout_ordered(dn, &job->x->shape, layout_own_blocks());
}

/* A convolution of each channel for itself, left to choose, takes channels
 * last; between convolutions on blocked channels it has to be told that these
 * will do. */
static bool describe_depthwise(struct onednn *dn, const struct job *job,
                               struct operation *out)
{
    const struct layout *src = depthwise_src(dn, job);
    const struct layout *dst = layout_like(dn, src, &job->y);

    if (dst)
        describe(dn, job, src, dst, out);
    return dst;
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
    if (dn->narrow)
        return tuning_choose(dn, job, describe_conv2d, out, err);
    if (own_direct_takes(dn, job))
        return own_direct_make(dn, job, out, err);
    if (grouped_takes(dn, job))
        return grouped_make(dn, job, out, err);
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

void conv2d_set_weight(struct onednn *dn, struct job *job,
                       const struct tensor *const *inputs)
{
    struct shape w =
        grouped(&inputs[CONV2D_WEIGHT]->shape, conv2d_attrs(job->node)->groups);

    job->weight = inputs[CONV2D_WEIGHT];
    job->weight_value = job->node->inputs[CONV2D_WEIGHT];
    job->weight_layout = layout_dense(dn, &w);
    job->scale = conv2d_scale(job->node, inputs);
    if (job->scale) {
        job->scale_value = job->node->inputs[CONV2D_SCALE];
        job->prepare = scale_weights;
    }
}

void conv2d_set_job(struct onednn *dn, struct job *job,
                    const struct tensor *const *inputs)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(job->node);

    conv2d_set_weight(dn, job, inputs);
    job->bias = inputs[CONV2D_BIAS];
    job->residual = inputs[CONV2D_RESIDUAL];
    job->has_relu = attrs->has_relu;
    job->relu_limit = attrs->relu_limit;
    job->activation = attrs->activation;
    job->slope = attrs->slope;
    job->may_take_residual = job->residual &&
                             op_input_dies(job->context, CONV2D_RESIDUAL) &&
                             buffer_references(job->residual->buffer) == 1;
}

enum assay_status forward_conv2d(struct onednn *dn, struct job *job,
                                 const struct tensor *const *inputs,
                                 struct tensor *y, struct error *err)
{
    struct kernel *kernel;
    enum assay_status st;

    conv2d_set_job(dn, job, inputs);
    st = conv2d_kernel(dn, job, &kernel, err);
    return st ? st : kernel_run(dn, job, kernel, y, err);
}
