/* backend/cuda/cuda_elementwise.c - launches kernels/elementwise.cu. */
#include "backend/cuda/cuda_ops.h"

#include "ops/ops.h"

/* Tensors of one shape; broadcasting is left to others. */
bool cuda_can_add(const struct cuda *cuda, const struct node *node,
                  const struct tensor *const *inputs)
{
    (void)cuda;
    return node->n_inputs == 2 && inputs[0] && inputs[1] &&
           inputs[0]->dtype == DTYPE_F32 && inputs[1]->dtype == DTYPE_F32 &&
           shape_equal(&inputs[0]->shape, &inputs[1]->shape);
}

/* The second one is made to lie as the first does. */
enum assay_status cuda_run_add(struct cuda_call *call)
{
    const struct tensor *first = call->inputs[0];
    struct cuda_device *device = call->cuda->device;
    struct tensor second = {0};
    char name[CUDA_NAME];
    enum assay_status st = cuda_output(call, 0, first->layout);
    cu_pointer a = cuda_at(first), b, y = cuda_at(&call->outputs[0]);
    struct tensor all = cuda_as_stored(first);
    int64_t n = (int64_t)tensor_elements(&all);
    int has_relu = 0;

    if (!st)
        st = cuda_in_layout(call, call->inputs[1], first->layout, &second);
    b = cuda_at(&second);
    cuda_kernel_name(name, "add", cuda_stored(first));
    if (!st && n)
        st = CUDA_LAUNCH(call, "elementwise", name,
                         cuda_grid_for(device, (size_t)n, 8), a, b, y, n,
                         has_relu);
    tensor_release(&second);
    return st;
}
