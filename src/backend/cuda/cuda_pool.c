/* backend/cuda/cuda_pool.c - launches kernels/pool.cu. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/convolution/window.h"
#include "ops/ops.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"
#include "ops/pooling/pool_nd.h"

#include <string.h>

enum pool_mode { POOL_MAX, POOL_AVG, POOL_ADAPTIVE };

struct pool2d {
    int64_t n, c, height, width, to_height, to_width;
    int64_t kernel[2], stride[2], before[2], after[2];
    int mode, counts_padding;
    int64_t in_x[4], in_y[4];
};

static void pool2d_window(struct pool2d *pool, const int64_t *kernel,
                          const int64_t *stride, const int64_t *before,
                          const int64_t *after)
{
    memcpy(pool->kernel, kernel, sizeof pool->kernel);
    memcpy(pool->stride, stride, sizeof pool->stride);
    memcpy(pool->before, before, sizeof pool->before);
    memcpy(pool->after, after, sizeof pool->after);
}

static struct pool2d cuda_pool2d_of(const struct node *node)
{
    struct pool2d pool = {.mode = POOL_ADAPTIVE};

    if (node->op == &op_max_pool2d) {
        const struct max_pool2d_attrs *attrs = node->attrs;

        pool.mode = POOL_MAX;
        pool2d_window(&pool, attrs->kernel, attrs->stride, attrs->before,
                      attrs->after);
    } else if (node->op == &op_avg_pool2d) {
        const struct avg_pool2d_attrs *attrs = node->attrs;

        pool.mode = POOL_AVG;
        pool.counts_padding = attrs->counts_padding;
        pool2d_window(&pool, attrs->kernel, attrs->stride, attrs->before,
                      attrs->after);
    }
    return pool;
}

/* Stored as the input is. */
enum assay_status cuda_run_pool2d(struct cuda_call *call)
{
    const struct tensor *input = call->inputs[0];
    const int64_t *dims = input->shape.dims;
    const int64_t *to = call->outputs[0].shape.dims;
    enum assay_status st = cuda_output(call, 0, input->layout);
    struct pool2d pool = cuda_pool2d_of(call->node);
    cu_pointer x = cuda_at(input), y = cuda_at(&call->outputs[0]);
    size_t n = tensor_elements(&call->outputs[0]);
    struct cuda_view from = cuda_view_of(input),
                     made = cuda_view_of(&call->outputs[0]);
    char name[CUDA_NAME];

    if (st || !n)
        return st;
    pool.n = dims[0];
    pool.c = dims[1];
    pool.height = dims[2];
    pool.width = dims[3];
    pool.to_height = to[2];
    pool.to_width = to[3];
    memcpy(pool.in_x, from.strides, sizeof pool.in_x);
    memcpy(pool.in_y, made.strides, sizeof pool.in_y);
    cuda_kernel_name(name, "pool2d", cuda_stored(input));
    return CUDA_LAUNCH(call, "pool", name,
                       cuda_grid_for(call->cuda->device, n, 1), pool, x, y);
}

/* ---- in 1 to 3 dimensions ------------------------------------------------ */

struct pool_nd {
    struct fitted_window window;
    int64_t planes, power;
    int mode, counts_padding, is_by_column;
};

enum assay_status cuda_run_pool_nd(struct cuda_call *call)
{
    const struct pool_nd_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->inputs[0]->shape;
    struct pool_nd pool = {.planes = shape->dims[0] * shape->dims[1],
                           .power = attrs->power,
                           .counts_padding = attrs->counts_padding,
                           .is_by_column = attrs->is_by_column};
    enum assay_status st =
        window_fit(&attrs->window, shape, &pool.window, call->err);
    cu_pointer x = cuda_at(call->inputs[0]), y, places = 0;
    size_t n = tensor_elements(&call->outputs[0]);

    for (size_t i = 0; !st && i < call->node->n_outputs; i++)
        st = cuda_output(call, i, NULL);
    if (st || !n)
        return st;
    if (call->node->op != &op_max_pool_nd)
        pool.mode = call->node->op == &op_avg_pool_nd ? 1 : 2;
    y = cuda_at(&call->outputs[0]);
    if (call->node->n_outputs > 1)
        places = cuda_at(&call->outputs[1]);
    return CUDA_LAUNCH(call, "pool", "pool_nd",
                       cuda_grid_for(call->cuda->device, n, 1), pool, x, y,
                       places);
}
