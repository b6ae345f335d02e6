/* backend/cuda/cuda_norm.c - launches kernels/norm.cu. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/norm/batch_norm.h"
#include "ops/norm/group_norm.h"
#include "ops/norm/normalize.h"
#include "ops/ops.h"

static struct cuda_grid grid_of_lines(const struct cuda_device *device,
                                      int64_t n)
{
    int64_t most = 64 * (int64_t)device->n_multiprocessors;

    return (struct cuda_grid){(unsigned)(n < most ? n : most), 1, 1, 256, 0};
}

/* Stored as the input is. */
enum assay_status cuda_run_batch_norm(struct cuda_call *call)
{
    const struct tensor *input = call->inputs[BATCH_NORM_X];
    enum assay_status st = cuda_output(call, 0, input->layout);
    struct cuda_view x = cuda_view_of(input), channel = {.strides = {0, 1}};
    struct cuda_view y = cuda_view_of(&call->outputs[0]);
    struct cuda_walk walk = cuda_walk_over(
        &input->shape, (struct cuda_view *[]){&x, &channel, &y}, 3);
    cu_pointer weight = cuda_at(call->inputs[BATCH_NORM_WEIGHT]);
    cu_pointer bias = cuda_at(call->inputs[BATCH_NORM_BIAS]);
    cu_pointer mean = cuda_at(call->inputs[BATCH_NORM_MEAN]);
    cu_pointer variance = cuda_at(call->inputs[BATCH_NORM_VARIANCE]);
    float eps = batch_norm_attrs(call->node)->eps;
    int has_relu = batch_norm_attrs(call->node)->has_relu;

    if (st || !walk.n)
        return st;
    return CUDA_LAUNCH(call, "norm", "batch_norm",
                       cuda_grid_for(call->cuda->device, (size_t)walk.n, 2),
                       walk, x, channel, y, weight, bias, mean, variance, eps,
                       has_relu);
}

enum assay_status cuda_run_layer_norm(struct cuda_call *call)
{
    const struct normalize_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->inputs[0]->shape;
    int axis = cuda_axis(attrs->axis, shape->rank);
    int64_t lines = cuda_span(shape, 0, axis);
    int64_t n = cuda_span(shape, axis, shape->rank);
    cu_pointer x = cuda_at(call->inputs[0]), scale = cuda_at(call->inputs[1]);
    cu_pointer bias = cuda_at(cuda_input(call, 2)), made[3] = {0};
    float eps = attrs->eps;
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < call->node->n_outputs && i < 3; i++) {
        st = cuda_output(call, i, NULL);
        made[i] = cuda_at(&call->outputs[i]);
    }
    if (st || !lines)
        return st;
    return CUDA_LAUNCH(call, "norm", "layer_norm",
                       grid_of_lines(call->cuda->device, lines), x, scale, bias,
                       made[0], made[1], made[2], lines, n, eps);
}

enum assay_status cuda_run_instance_norm(struct cuda_call *call)
{
    const struct normalize_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->inputs[0]->shape;
    int64_t channels = shape->dims[1], planes = shape->dims[0] * channels;
    int64_t n = cuda_span(shape, 2, shape->rank);
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer x = cuda_at(call->inputs[0]), scale = cuda_at(call->inputs[1]);
    cu_pointer bias = cuda_at(call->inputs[2]);
    cu_pointer y = cuda_at(&call->outputs[0]);
    float eps = attrs->eps;

    if (st || !planes)
        return st;
    return CUDA_LAUNCH(call, "norm", "instance_norm",
                       grid_of_lines(call->cuda->device, planes), x, scale,
                       bias, y, planes, channels, n, eps);
}

enum assay_status cuda_run_group_norm(struct cuda_call *call)
{
    const struct group_norm_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->inputs[0]->shape;
    int64_t groups = attrs->groups, all = shape->dims[0] * groups;
    int64_t each = shape->dims[1] / groups;
    int64_t plane = cuda_span(shape, 2, shape->rank);
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer x = cuda_at(call->inputs[0]), scale = cuda_at(call->inputs[1]);
    cu_pointer bias = cuda_at(call->inputs[2]);
    cu_pointer y = cuda_at(&call->outputs[0]);
    float eps = attrs->eps;

    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    return CUDA_LAUNCH(call, "norm", "group_norm",
                       grid_of_lines(call->cuda->device, all), x, scale, bias,
                       y, all, groups, each, plane, eps);
}

enum assay_status cuda_run_local_response_norm(struct cuda_call *call)
{
    const struct local_response_norm_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->inputs[0]->shape;
    int64_t n = (int64_t)tensor_elements(call->inputs[0]);
    int64_t channels = shape->dims[1], size = attrs->size;
    int64_t inner = cuda_span(shape, 2, shape->rank);
    float alpha = attrs->alpha, beta = attrs->beta, bias = attrs->bias;
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer x = cuda_at(call->inputs[0]), y = cuda_at(&call->outputs[0]);

    if (st || !n)
        return st;
    return CUDA_LAUNCH(call, "norm", "local_response_norm",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), x, y, n,
                       channels, inner, size, alpha, beta, bias);
}
