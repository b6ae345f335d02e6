/* backend/dnnl/weight_gradients.c - gradients of the ops that have weights:
 * Conv2d, ConvTranspose2d and Linear. */
#include "backend/dnnl/dnnl_internal.h"

#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/product/linear.h"

/* Their first inputs are the same. */
enum { X, WEIGHT, BIAS };

_Static_assert(X == (int)CONV2D_X && X == (int)CONV_TRANSPOSE2D_X &&
                   X == (int)LINEAR_X,
               "x comes first");
_Static_assert(WEIGHT == (int)CONV2D_WEIGHT &&
                   WEIGHT == (int)CONV_TRANSPOSE2D_WEIGHT &&
                   WEIGHT == (int)LINEAR_WEIGHT,
               "the weight comes second");
_Static_assert(BIAS == (int)CONV2D_BIAS && BIAS == (int)CONV_TRANSPOSE2D_BIAS &&
                   BIAS == (int)LINEAR_BIAS,
               "the bias comes third");

/* Finds the kernel of a job, or makes it. */
typedef enum assay_status find_gradient(struct onednn *dn,
                                        const struct job *job,
                                        struct kernel **out, struct error *err);

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
                                    const struct tensor *dy,
                                    find_gradient *find, struct error *err)
{
    struct kernel *kernel;
    struct tensor dw;
    enum assay_status st = ASSAY_OK;

    job.direction = DIRECTION_WEIGHTS;
    job.x = pass->inputs[X];
    job.dy = dy;
    job.y = dy->shape;
    if (op_wants(pass, BIAS)) {
        job.bias_gradient = &pass->dx[BIAS];
        st = tensor_new(job.context->pool, DTYPE_F32,
                        &pass->inputs[BIAS]->shape, job.bias_gradient, err);
    }
    if (!st)
        st = find(dn, &job, &kernel, err);
    if (!st)
        st = kernel_run(dn, &job, kernel, &dw, err);
    if (st)
        return st;
    if (job.scale)
        scale_gradient(&job, &dw);
    if (op_wants(pass, WEIGHT))
        pass->dx[WEIGHT] = dw;
    else
        tensor_release(&dw);
    return ASSAY_OK;
}

static enum assay_status weight_gradients_to_data(
    struct onednn *dn, struct job job, const struct op_backward *pass,
    const struct tensor *dy, find_gradient *find, struct error *err)
{
    struct kernel *kernel;
    enum assay_status st;

    job.direction = DIRECTION_DATA;
    job.x = dy;
    job.y = pass->inputs[X]->shape;
    st = find(dn, &job, &kernel, err);
    return st ? st : kernel_run(dn, &job, kernel, &pass->dx[X], err);
}

static enum assay_status to_inputs(struct onednn *dn, const struct job *job,
                                   const struct op_backward *pass,
                                   const struct tensor *dy, find_gradient *find,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (op_wants(pass, WEIGHT) || op_wants(pass, BIAS))
        st = to_weights(dn, *job, pass, dy, find, err);
    if (!st && op_wants(pass, X))
        st = weight_gradients_to_data(dn, *job, pass, dy, find, err);
    return st;
}

/* Weights for x, x for weights, and the output where a ReLU is fused. */
static struct op_reads reads_of(uint64_t wanted, bool has_relu)
{
    struct op_reads reads = {.outputs = wanted && has_relu};

    if (wanted & 1 << X)
        reads.inputs |= 1 << WEIGHT;
    if (wanted & (1 << WEIGHT | 1 << BIAS))
        reads.inputs |= 1 << X;
    return reads;
}

/* ---- Conv2d -------------------------------------------------------------- */

struct op_reads reads_conv2d(const struct node *node, uint64_t wanted)
{
    struct op_reads reads = reads_of(wanted, conv2d_attrs(node)->has_relu);

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

    conv2d_set_weight(dn, job, pass->inputs);
    if (!st)
        st = to_inputs(dn, job, pass, &dy, conv2d_kernel, err);
    if (!st && op_wants(pass, CONV2D_RESIDUAL))
        pass->dx[CONV2D_RESIDUAL] = tensor_share(&dy);
    tensor_release(&dy);
    return st;
}

/* ---- Linear -------------------------------------------------------------- */

static enum assay_status find_linear(struct onednn *dn, const struct job *job,
                                     struct kernel **out, struct error *err)
{
    struct operation operation = {.kind = OPERATION_INNER_PRODUCT,
                                  .src = layout_dense(dn, &job->x->shape),
                                  .weights =
                                      linear_weight(dn, &job->weight->shape),
                                  .dst = layout_dense(dn, &job->y)};

    *out = kernel_find(dn, job);
    if (*out)
        return ASSAY_OK;
    if (job->bias_gradient)
        operation.bias = layout_dense(dn, &job->bias_gradient->shape);
    return kernel_make_kept(dn, job, &operation, out, err);
}

struct op_reads reads_linear(const struct node *node, uint64_t wanted)
{
    return reads_of(wanted, linear_attrs(node)->has_relu);
}

enum assay_status backward_linear(struct onednn *dn, struct job *job,
                                  const struct op_backward *pass,
                                  struct error *err)
{
    struct tensor dy = {0};
    enum assay_status st = gradient_before_relu(
        dn, job, pass, linear_attrs(job->node)->has_relu, 0, &dy, err);

    job->weight = pass->inputs[WEIGHT];
    job->weight_value = job->node->inputs[WEIGHT];
    job->weight_layout = layout_dense(dn, &job->weight->shape);
    if (!st)
        st = to_inputs(dn, job, pass, &dy, find_linear, err);
    tensor_release(&dy);
    return st;
}

/* ---- ConvTranspose2d ----------------------------------------------------- */

static enum assay_status find_transposed(struct onednn *dn,
                                         const struct job *job,
                                         struct kernel **out, struct error *err)
{
    return transposed_kernel(dn, job, job->bias_gradient, out, err);
}

struct op_reads reads_conv_transpose2d(const struct node *node, uint64_t wanted)
{
    return reads_of(wanted, conv_transpose2d_attrs(node)->has_relu);
}

enum assay_status backward_conv_transpose2d(struct onednn *dn, struct job *job,
                                            const struct op_backward *pass,
                                            struct error *err)
{
    struct tensor dy = {0};
    enum assay_status st = gradient_before_relu(
        dn, job, pass, conv_transpose2d_attrs(job->node)->has_relu, 0, &dy,
        err);

    job->weight = pass->inputs[WEIGHT];
    job->weight_value = job->node->inputs[WEIGHT];
    job->weight_layout = transposed_weight(dn, &job->weight->shape);
    if (!st)
        st = layout_check(job->weight_layout, err);
    if (!st)
        st = to_inputs(dn, job, pass, &dy, find_transposed, err);
    tensor_release(&dy);
    return st;
}
