/* backend/cuda/cuda_max_pool.c - launches kernels/pool_max.cu where maps are
 * stored for it; cuda_pool.c has the rest. */
#include "backend/cuda/cuda_ops.h"

#include "ops/pooling/max_pool2d.h"

/* Sixteen bytes of channels at a time, and no place of a maximum is asked
 * for. */
static bool max_pool_has_packs(const struct cuda_call *call)
{
    enum { together = 16 };
    const struct tensor *x = call->inputs[0];
    const int64_t *dims = x->shape.dims;
    size_t n = tensor_elements(&call->outputs[0]);

    return !call->context->saved && cuda_order(x) == CUDA_CHANNELS_LAST &&
           dims[1] > 0 &&
           dims[1] * (int64_t)dtype_bytes(cuda_stored(x)) % together == 0 &&
           n > 0 && n <= INT32_MAX && tensor_elements(x) <= INT32_MAX &&
           !(cuda_at(x) % together);
}

/* As kernels/pool_max.cu has it. */
struct max_pool {
    int channels, height, width, to_height, to_width;
    int kernel[2], stride[2], before[2];
    int n;
};

enum assay_status cuda_run_max_pool2d(struct cuda_call *call)
{
    const struct max_pool2d_attrs *attrs = call->node->attrs;
    const struct tensor *input = call->inputs[0];
    const int64_t *dims = input->shape.dims;
    const int64_t *to = call->outputs[0].shape.dims;
    struct max_pool pool = {.channels = (int)dims[1],
                            .height = (int)dims[2],
                            .width = (int)dims[3],
                            .to_height = (int)to[2],
                            .to_width = (int)to[3]};
    size_t elements = tensor_elements(&call->outputs[0]);
    char name[CUDA_NAME];
    enum assay_status st;
    cu_pointer x, y;

    if (!max_pool_has_packs(call))
        return cuda_run_pool2d(call);
    st = cuda_output(call, 0, input->layout);
    for (int i = 0; i < 2; i++) {
        pool.kernel[i] = (int)attrs->kernel[i];
        pool.stride[i] = (int)attrs->stride[i];
        pool.before[i] = (int)attrs->before[i];
    }
    pool.n = (int)(elements * dtype_bytes(cuda_stored(input)) / 16);
    x = cuda_at(input);
    y = cuda_at(&call->outputs[0]);
    cuda_kernel_name(name, "max_pool", cuda_stored(input));
    return st ? st
              : CUDA_LAUNCH(
                    call, "pool_max", name,
                    cuda_grid_for(call->cuda->device, (size_t)pool.n, 1), pool,
                    x, y);
}
