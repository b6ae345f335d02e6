/* backend/dnnl/lines.c - Softmax and LayerNorm of lines that are neighbours in
 * memory, with our own kernels. */
#include "backend/dnnl/dnnl_internal.h"

#include "backend/direct/direct.h"
#include "ops/math/softmax.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"

enum { LINES_SCALE = 1, LINES_BIAS };

bool lines_make_all(const struct node *node)
{
    return node->op != &op_layer_norm || node->n_outputs == 1;
}

/* Whether the axis is the last dimension, and the kernels can be used. */
static bool lines_take(const struct onednn *dn, const struct job *job,
                       int64_t axis)
{
    int rank = job->x->shape.rank;

    return !job->is_training && !dn->options.is_plain && direct_lanes() &&
           rank > 0 && (axis == -1 || axis == rank - 1) &&
           tensor_elements(job->x);
}

static int64_t line_length(const struct job *job)
{
    return job->x->shape.dims[job->x->shape.rank - 1];
}

static int64_t lines_count(const struct job *job)
{
    return (int64_t)tensor_elements(job->x) / line_length(job);
}

/* x as it is read, and memory for y. */
static enum assay_status lines_start(struct onednn *dn, const struct job *job,
                                     struct tensor *x, struct tensor *y,
                                     struct error *err)
{
    enum assay_status st =
        layout_convert(dn, job->context->pool, job->x,
                       layout_dense(dn, &job->x->shape), x, err);

    if (st)
        return st;
    st = tensor_new(job->context->pool, DTYPE_F32, &job->y, y, err);
    if (st)
        tensor_release(x);
    return st;
}

enum assay_status forward_softmax(struct onednn *dn, struct job *job,
                                  const struct tensor *const *inputs,
                                  struct tensor *y, struct error *err)
{
    const struct softmax_attrs *attrs = job->node->attrs;
    struct tensor x;
    enum assay_status st;

    if (!lines_take(dn, job, attrs->axis))
        return own_kernel(dn, job, inputs, y, err);
    st = lines_start(dn, job, &x, y, err);
    if (st)
        return st;
    direct_softmax(tensor_f32(&x), tensor_f32(y), lines_count(job),
                   line_length(job));
    tensor_release(&x);
    return ASSAY_OK;
}

enum assay_status forward_layer_norm(struct onednn *dn, struct job *job,
                                     const struct tensor *const *inputs,
                                     struct tensor *y, struct error *err)
{
    const struct normalize_attrs *attrs = job->node->attrs;
    const struct tensor *bias =
        job->node->n_inputs > LINES_BIAS ? inputs[LINES_BIAS] : NULL;
    struct direct_norm norm = {.eps = attrs->eps};
    struct tensor x;
    enum assay_status st;

    if (!lines_take(dn, job, attrs->axis))
        return own_kernel(dn, job, inputs, y, err);
    st = lines_start(dn, job, &x, y, err);
    if (st)
        return st;
    norm.scale = tensor_f32(inputs[LINES_SCALE]);
    norm.bias = bias ? tensor_f32(bias) : NULL;
    norm.n = line_length(job);
    direct_normalize(&norm, tensor_f32(&x), tensor_f32(y), lines_count(job));
    tensor_release(&x);
    return ASSAY_OK;
}
