/* backend/cuda/cuda_pool.c - launches kernels/pool.cu. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_backward.h"
#include "backend/cuda/cuda_gate.h"
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

/* Of a map of these shapes; the strides are left at 0. */
static struct pool2d pool2d_over(const struct node *node,
                                 const struct shape *from,
                                 const struct shape *to)
{
    struct pool2d pool = cuda_pool2d_of(node);

    pool.n = from->dims[0];
    pool.c = from->dims[1];
    pool.height = from->dims[2];
    pool.width = from->dims[3];
    pool.to_height = to->dims[2];
    pool.to_width = to->dims[3];
    return pool;
}

enum assay_status cuda_save_places(struct cuda_call *call, int64_t channels,
                                   cu_pointer *places)
{
    const struct op_context *context = call->context;
    struct shape shape = call->outputs[0].shape;
    enum assay_status st = ASSAY_OK;

    *places = 0;
    if (!context->saved || call->node->op != &op_max_pool2d ||
        !cuda_can_backward(&call->cuda->base, call->node))
        return ASSAY_OK;
    shape.dims[1] = channels;
    if (!context->is_again)
        st = tensor_new(context->pool, DTYPE_U8, &shape, context->saved,
                        call->err);
    *places = cuda_at(context->saved);
    return st;
}

/* A global average pool, between tensors that suit kernels/gate.cu. */
static bool is_global(const struct pool2d *pool, const struct tensor *map,
                      const struct tensor *mean)
{
    return pool->mode == POOL_ADAPTIVE && cuda_is_gate(map, mean);
}

static float share_of_place(const struct pool2d *pool)
{
    return 1 / (float)(pool->height * pool->width);
}

static enum assay_status pool2d_launch(struct cuda_call *call,
                                       const struct tensor *x_map,
                                       const struct tensor *y_map,
                                       cu_pointer places)
{
    struct pool2d pool = pool2d_over(call->node, &x_map->shape, &y_map->shape);
    struct cuda_view from = cuda_view_of(x_map), made = cuda_view_of(y_map);
    cu_pointer x = cuda_at(x_map), y = cuda_at(y_map);
    size_t n = tensor_elements(y_map);
    char name[CUDA_NAME];

    if (!n)
        return ASSAY_OK;
    if (is_global(&pool, x_map, y_map))
        return cuda_image_sums(call, x_map, NULL, share_of_place(&pool), y_map);
    memcpy(pool.in_x, from.strides, sizeof pool.in_x);
    memcpy(pool.in_y, made.strides, sizeof pool.in_y);
    return CUDA_LAUNCH(
        call, "pool", cuda_kernel_name(name, "pool2d", cuda_stored(x_map)),
        cuda_grid_for(call->cuda->device, n, 1), pool, x, y, places);
}

/* Stored as the input is; in training, with the channels last. */
enum assay_status cuda_run_pool2d(struct cuda_call *call)
{
    struct tensor own = {0}, x, y;
    cu_pointer places;
    enum assay_status st =
        cuda_save_places(call, call->outputs[0].shape.dims[1], &places);

    if (!st)
        st = cuda_in_layout(call, call->inputs[0],
                            places ? cuda_own_layout(call->cuda, 4)
                                   : call->inputs[0]->layout,
                            &own);
    if (!st)
        st = cuda_output(call, 0, own.layout);
    x = cuda_as_stored(&own);
    y = cuda_as_stored(&call->outputs[0]);
    if (!st)
        st = pool2d_launch(call, &x, &y, places);
    tensor_release(&own);
    return st;
}

enum assay_status cuda_back_pool2d(struct cuda_call *call,
                                   const struct op_backward *pass)
{
    const struct shape *shape = &pass->inputs[0]->shape;
    struct pool2d pool = pool2d_over(call->node, shape, &pass->dy[0]->shape);
    struct tensor own;
    const struct layout *layout = cuda_own_layout(call->cuda, 4);
    cu_pointer dy, dx, places = cuda_at(pass->saved);
    char name[CUDA_NAME];
    enum assay_status st = cuda_in_layout(call, pass->dy[0], layout, &own);

    if (!st)
        st = cuda_tensor_new(call, shape, layout, &pass->dx[0]);
    dy = cuda_at(&own);
    dx = cuda_at(&pass->dx[0]);
    if (!st && is_global(&pool, &pass->dx[0], &own))
        st = cuda_gate(call, NULL, &own, share_of_place(&pool), &pass->dx[0]);
    else if (!st && tensor_elements(&pass->dx[0]))
        st = CUDA_LAUNCH(
            call, "pool", cuda_kernel_name(name, "pool2d_back", layout->stored),
            cuda_grid_for(call->cuda->device, tensor_elements(&pass->dx[0]), 1),
            pool, dy, places, dx);
    tensor_release(&own);
    return st;
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
