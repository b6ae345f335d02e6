/* backend/cuda/cuda_max_pool.c - launches kernels/pool_max.cu where maps are
 * stored for it; cuda_pool.c has the rest. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_backward.h"
#include "ops/pooling/max_pool2d.h"

/* Sixteen bytes of channels at a time. */
static bool max_pool_has_packs(const struct shape *x, const struct shape *y,
                               const struct layout *layout)
{
    enum { together = 16 };
    size_t n = 0, made = 0;

    return layout && layout->order == CUDA_CHANNELS_LAST && x->dims[1] > 0 &&
           x->dims[1] * (int64_t)dtype_bytes(layout->stored) % together == 0 &&
           shape_elements(x, &n) && shape_elements(y, &made) && made > 0 &&
           n <= INT32_MAX && made <= INT32_MAX;
}

/* As kernels/pool_max.cu has it. */
struct max_pool {
    int channels, height, width, to_height, to_width;
    int kernel[2], stride[2], before[2];
    int n;
};

/* n is left at 0. */
static struct max_pool max_pool_of(const struct node *node,
                                   const struct shape *x, const struct shape *y)
{
    const struct max_pool2d_attrs *attrs = node->attrs;
    struct max_pool pool = {.channels = (int)x->dims[1],
                            .height = (int)x->dims[2],
                            .width = (int)x->dims[3],
                            .to_height = (int)y->dims[2],
                            .to_width = (int)y->dims[3]};

    for (int i = 0; i < 2; i++) {
        pool.kernel[i] = (int)attrs->kernel[i];
        pool.stride[i] = (int)attrs->stride[i];
        pool.before[i] = (int)attrs->before[i];
    }
    return pool;
}

static int max_pool_packs(const struct tensor *map)
{
    return (int)(tensor_elements(map) * dtype_bytes(cuda_stored(map)) / 16);
}

enum assay_status cuda_run_max_pool2d(struct cuda_call *call)
{
    const struct tensor *input = call->inputs[0];
    struct tensor all = cuda_as_stored(input), made;
    struct shape shape = call->outputs[0].shape;
    struct max_pool pool = max_pool_of(call->node, &all.shape, &shape);
    char name[CUDA_NAME];
    cu_pointer x = cuda_at(input), y, places;
    enum assay_status st;

    shape.dims[1] = all.shape.dims[1];
    if (!max_pool_has_packs(&all.shape, &shape, all.layout) || x % 16)
        return cuda_run_pool2d(call);
    st = cuda_save_places(call, all.shape.dims[1], &places);
    if (!st)
        st = cuda_output(call, 0, input->layout);
    made = cuda_as_stored(&call->outputs[0]);
    pool.n = max_pool_packs(&made);
    y = cuda_at(&made);
    cuda_kernel_name(name, "max_pool", cuda_stored(input));
    return st ? st
              : CUDA_LAUNCH(
                    call, "pool_max", name,
                    cuda_grid_for(call->cuda->device, (size_t)pool.n, 1), pool,
                    x, y, places);
}

/* Stored as in the forward pass, where the places say what was padded. */
enum assay_status cuda_back_max_pool2d(struct cuda_call *call,
                                       const struct op_backward *pass)
{
    const struct shape *shape = &pass->inputs[0]->shape;
    const struct layout *layout = cuda_own_layout(call->cuda, 4);
    struct shape from = *shape, to = pass->dy[0]->shape;
    struct max_pool pool;
    struct tensor own, made;
    cu_pointer dy, dx, places = cuda_at(pass->saved);
    char name[CUDA_NAME];
    enum assay_status st;

    from.dims[1] = to.dims[1] = pass->saved->shape.dims[1];
    if (!max_pool_has_packs(&from, &to, layout))
        return cuda_back_pool2d(call, pass);
    if (from.dims[1] != shape->dims[1])
        layout = cuda_layout(CUDA_CHANNELS_PADDED, layout->stored);
    st = cuda_in_layout(call, pass->dy[0], layout, &own);
    if (!st)
        st = cuda_tensor_new(call, shape, layout, &pass->dx[0]);
    made = cuda_as_stored(&pass->dx[0]);
    pool = max_pool_of(call->node, &from, &to);
    pool.n = max_pool_packs(&made);
    dy = cuda_at(&own);
    dx = cuda_at(&pass->dx[0]);
    cuda_kernel_name(name, "max_pool_back", layout->stored);
    if (!st)
        st = CUDA_LAUNCH(call, "pool_max", name,
                         cuda_grid_for(call->cuda->device, (size_t)pool.n, 1),
                         pool, dy, places, dx);
    tensor_release(&own);
    return st;
}
