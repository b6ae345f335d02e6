/* backend/cuda/cuda_conv_backward.c - see cuda_backward.h: gradients of
 * convolutions and linear layers, as jobs (cuda_plan.h). */
#include "backend/cuda/cuda_backward.h"

#include "backend/cuda/cuda_plan.h"
#include "backend/cuda/cuda_walk.h"
#include "ops/convolution/conv2d.h"
#include "ops/convolution/conv_transpose2d.h"
#include "ops/product/linear.h"

#include <math.h>

/* Both have x, weight and bias in this order. */
enum { X, WEIGHT, BIAS };

/* dy before the ReLU that is fused, in a layout. */
static enum assay_status before_relu(struct cuda_call *call,
                                     const struct op_backward *pass,
                                     const struct layout *layout, bool has_relu,
                                     float limit, struct tensor *out)
{
    if (!has_relu)
        return cuda_in_layout(call, pass->dy[0], layout, out);
    return cuda_pass_between(call, layout, &pass->outputs[0], pass->dy[0], 0,
                             limit > 0 ? limit : INFINITY, out);
}

/* From [o,kh,kw,wide] to [o,c,kh,kw] in float32, times the scale of each o. */
static enum assay_status unpack(struct cuda_call *call,
                                const struct buffer *packed, int64_t wide,
                                enum dtype stored,
                                const struct tensor *scale_input,
                                const struct tensor *to)
{
    const int64_t *dims = to->shape.dims;
    cu_pointer x = (cu_pointer)(uintptr_t)buffer_data(packed);
    cu_pointer y = cuda_at(to), scale = cuda_at(scale_input);
    int64_t c = dims[1], places = cuda_span(&to->shape, 2, to->shape.rank);
    int64_t n = (int64_t)tensor_elements(to);
    char name[CUDA_NAME];

    return CUDA_LAUNCH(call, "gradient",
                       cuda_kernel_name(name, "unpack_weight", stored),
                       cuda_grid_for(call->cuda->device, (size_t)n, 4), x,
                       scale, y, c, wide, places, n);
}

/* The gradient of the weights in float32, which lie in memory as the job has
 * them or otherwise. */
static enum assay_status back_weight(struct cuda_call *call,
                                     const struct op_backward *pass,
                                     struct cuda_job job,
                                     struct cuda_operands at, bool is_packed,
                                     const struct tensor *scale)
{
    const struct shape *shape = &pass->inputs[WEIGHT]->shape;
    enum dtype stored = (enum dtype)job.stored;
    struct tensor *dw = &pass->dx[WEIGHT];
    struct buffer *packed = NULL;
    int64_t wide = job.c / job.groups;
    size_t n = (size_t)(job.o * job.kh * job.kw * wide);
    enum assay_status st = cuda_tensor_new(call, shape, NULL, dw);

    at.w = cuda_at(dw);
    is_packed = is_packed || stored != DTYPE_F32 || wide != shape->dims[1] ||
                job.o != shape->dims[0];
    if (!st && is_packed) {
        st = cuda_scratch(call, n * dtype_bytes(stored), &packed);
        if (!st)
            at.w = (cu_pointer)(uintptr_t)buffer_data(packed);
    }
    job.way = WAY_WEIGHTS;
    if (!st)
        st = cuda_job_do(call, &job, &at);
    if (!st && is_packed)
        st = unpack(call, packed, wide, stored, scale, dw);
    buffer_release(packed);
    return st;
}

/* A product adds to what x has from others already: where a block of a residual
 * network begins, that saves a pass over three maps. */
static struct tensor *sum_to_add_to(const struct op_backward *pass,
                                    const struct cuda_job *job,
                                    const struct layout *layout)
{
    struct tensor *sum = pass->sums ? &pass->sums[X] : NULL;

    return sum && sum->buffer && sum->layout == layout &&
                   cuda_job_is_product(job)
               ? sum
               : NULL;
}

static enum assay_status back_data(struct cuda_call *call,
                                   const struct op_backward *pass,
                                   struct cuda_job job, struct cuda_operands at,
                                   const struct layout *layout)
{
    struct tensor *sum = sum_to_add_to(pass, &job, layout);
    enum assay_status st =
        cuda_tensor_new(call, &pass->inputs[X]->shape, layout, &pass->dx[X]);

    at.x = cuda_at(&pass->dx[X]);
    at.residual = sum ? cuda_at(sum) : 0;
    job.has_residual = sum != NULL;
    job.way = WAY_DATA;
    if (!st)
        st = cuda_job_do(call, &job, &at);
    if (!st && sum)
        tensor_release(sum);
    return st;
}

/* What follows the sums has no part in their gradients. */
static void job_strip(struct cuda_job *job)
{
    job->has_bias = job->has_residual = job->has_relu = 0;
    job->activation = 0;
    job->relu_limit = job->slope = 0;
}

enum assay_status cuda_back_conv2d(struct cuda_call *call,
                                   const struct op_backward *pass)
{
    const struct conv2d_attrs *attrs = conv2d_attrs(call->node);
    const struct tensor *scale = conv2d_scale(call->node, pass->inputs);
    const int64_t *w = pass->inputs[WEIGHT]->shape.dims;
    const struct layout *of_x = cuda_own_layout(call->cuda, 4), *of_y = of_x;
    struct cuda_job job = cuda_conv_job(call, of_x, &pass->dy[0]->shape);
    struct cuda_operands at = {0};
    struct tensor dy = {0}, x = {0};
    enum assay_status st;

    cuda_conv_pad(call, &job, &of_x, &of_y);
    st = before_relu(call, pass, of_y, attrs->has_relu, attrs->relu_limit, &dy);
    job_strip(&job);
    at.y = cuda_at(&dy);
    if (!st && op_wants(pass, X))
        st = cuda_conv_weight(call, &job, &at.w);
    if (!st && op_wants(pass, X))
        st = back_data(call, pass, job, at, of_x);
    if (!st && op_wants(pass, WEIGHT))
        st = cuda_in_layout(call, pass->inputs[X], of_x, &x);
    at.x = cuda_at(&x);
    if (!st && op_wants(pass, WEIGHT))
        st = back_weight(call, pass, job, at,
                         scale || (w[1] > 1 && w[2] * w[3] > 1), scale);
    if (!st && op_wants(pass, BIAS))
        st =
            cuda_channel_sums(call, at.y, of_y->stored, job.n * job.oh * job.ow,
                              job.o, w[0], &pass->dx[BIAS]);
    if (!st && op_wants(pass, CONV2D_RESIDUAL))
        pass->dx[CONV2D_RESIDUAL] = tensor_share(&dy);
    tensor_release(&x);
    tensor_release(&dy);
    return st;
}

enum assay_status cuda_back_linear(struct cuda_call *call,
                                   const struct op_backward *pass)
{
    const struct shape *x_shape = &pass->inputs[X]->shape;
    const struct shape *w = &pass->inputs[WEIGHT]->shape;
    const struct layout *layout = cuda_own_layout(call->cuda, 2);
    enum dtype stored = layout ? layout->stored : DTYPE_F32;
    struct cuda_job job = cuda_product_job(call, stored, x_shape->dims[0],
                                           x_shape->dims[1], w->dims[0]);
    struct cuda_operands at = {0};
    struct tensor dy = {0}, x = {0};
    enum assay_status st = before_relu(
        call, pass, layout, linear_attrs(call->node)->has_relu, 0, &dy);

    at.y = cuda_at(&dy);
    if (!st && op_wants(pass, X))
        st = cuda_packed(call, WEIGHT, 0, cuda_packing(PACKED_ROWS, stored),
                         &at.w);
    if (!st && op_wants(pass, X))
        st = back_data(call, pass, job, at, layout);
    if (!st && op_wants(pass, WEIGHT))
        st = cuda_in_layout(call, pass->inputs[X], layout, &x);
    at.x = cuda_at(&x);
    if (!st && op_wants(pass, WEIGHT))
        st = back_weight(call, pass, job, at, false, NULL);
    if (!st && op_wants(pass, BIAS))
        st = cuda_channel_sums(call, at.y, stored, job.n, job.o, job.o,
                               &pass->dx[BIAS]);
    tensor_release(&x);
    tensor_release(&dy);
    return st;
}

/* ---- transposed convolutions --------------------------------------------- */

/* Those whose windows do not overlap: see cuda_can_conv_transpose2d(). */
bool cuda_can_back_transposed(const struct cuda *cuda, const struct node *node)
{
    const struct conv_transpose2d_attrs *attrs = conv_transpose2d_attrs(node);
    const struct value *w = graph_value(cuda->graph, node->inputs[WEIGHT]);

    for (int i = 0; i < 2; i++) {
        if (w->shape.rank != 4 || attrs->stride[i] != w->shape.dims[2 + i] ||
            attrs->before[i] || attrs->after[i] || attrs->more[i])
            return false;
    }
    return true;
}

/* The gradients of all windows as rows [places,(kh,kw,o)]. */
static enum assay_status collect_windows(struct cuda_call *call,
                                         const struct op_backward *pass,
                                         const struct tensor *from,
                                         struct buffer **out)
{
    const int64_t *x = pass->inputs[X]->shape.dims;
    const int64_t *weight = pass->inputs[WEIGHT]->shape.dims;
    int64_t h = x[2], w = x[3], o = weight[1], kh = weight[2], kw = weight[3];
    int64_t n = (int64_t)tensor_elements(from);
    cu_pointer dy = cuda_at(from), y;
    enum dtype stored = cuda_stored(from);
    enum assay_status st =
        cuda_scratch(call, tensor_elements(from) * dtype_bytes(stored), out);
    char name[CUDA_NAME];

    if (st)
        return st;
    y = (cu_pointer)(uintptr_t)buffer_data(*out);
    return CUDA_LAUNCH(call, "gradient",
                       cuda_kernel_name(name, "collect", stored),
                       cuda_grid_for(call->cuda->device, (size_t)n, 2), dy, y,
                       h, w, kh, kw, o, n);
}

static enum assay_status back_turned_weight(struct cuda_call *call,
                                            const struct op_backward *pass,
                                            struct cuda_job job,
                                            struct cuda_operands at)
{
    const struct shape *shape = &pass->inputs[WEIGHT]->shape;
    int64_t c = shape->dims[0], o = shape->dims[1];
    int64_t places = shape->dims[2] * shape->dims[3];
    enum dtype stored = (enum dtype)job.stored;
    struct buffer *packed = NULL;
    enum assay_status st =
        cuda_tensor_new(call, shape, NULL, &pass->dx[WEIGHT]);
    cu_pointer dw = cuda_at(&pass->dx[WEIGHT]);
    int64_t n = c * o * places;
    char name[CUDA_NAME];

    if (!st)
        st = cuda_scratch(call, (size_t)n * dtype_bytes(stored), &packed);
    if (st)
        return st;
    at.w = (cu_pointer)(uintptr_t)buffer_data(packed);
    job.way = WAY_WEIGHTS;
    st = cuda_job_do(call, &job, &at);
    if (!st)
        st = CUDA_LAUNCH(call, "gradient",
                         cuda_kernel_name(name, "unpack_turned", stored),
                         cuda_grid_for(call->cuda->device, (size_t)n, 2), at.w,
                         dw, c, o, places, n);
    buffer_release(packed);
    return st;
}

enum assay_status cuda_back_conv_transpose2d(struct cuda_call *call,
                                             const struct op_backward *pass)
{
    const struct layout *layout = cuda_own_layout(call->cuda, 4);
    const int64_t *x_dims = pass->inputs[X]->shape.dims;
    const int64_t *w = pass->inputs[WEIGHT]->shape.dims;
    int64_t rows = x_dims[0] * x_dims[2] * x_dims[3];
    struct cuda_job job = cuda_product_job(call, layout->stored, rows,
                                           x_dims[1], w[1] * w[2] * w[3]);
    struct cuda_operands at = {0};
    struct buffer *windows = NULL;
    struct tensor dy = {0}, x = {0};
    enum assay_status st =
        before_relu(call, pass, layout,
                    conv_transpose2d_attrs(call->node)->has_relu, 0, &dy);

    if (!st)
        st = collect_windows(call, pass, &dy, &windows);
    if (!st)
        at.y = (cu_pointer)(uintptr_t)buffer_data(windows);
    if (!st && op_wants(pass, X))
        st = cuda_packed(call, WEIGHT, 0,
                         cuda_packing(PACKED_TURNED, layout->stored), &at.w);
    if (!st && op_wants(pass, X))
        st = back_data(call, pass, job, at, layout);
    if (!st && op_wants(pass, WEIGHT))
        st = cuda_in_layout(call, pass->inputs[X], layout, &x);
    at.x = cuda_at(&x);
    if (!st && op_wants(pass, WEIGHT))
        st = back_turned_weight(call, pass, job, at);
    if (!st && op_wants(pass, BIAS))
        st = cuda_channel_sums(call, cuda_at(&dy), layout->stored,
                               rows * w[2] * w[3], w[1], w[1], &pass->dx[BIAS]);
    buffer_release(windows);
    tensor_release(&x);
    tensor_release(&dy);
    return st;
}
