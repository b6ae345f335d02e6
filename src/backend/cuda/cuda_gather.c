/* backend/cuda/cuda_gather.c - launches the kernels of kernels/move.cu that go
 * by indices, and Cast. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/math/cast.h"
#include "ops/movement/gather.h"
#include "ops/ops.h"

bool cuda_can_gather(const struct cuda *cuda, const struct node *node,
                     const struct tensor *const *inputs)
{
    (void)cuda, (void)node;
    return inputs[1] && cuda_computed_in(inputs[1]->dtype)[0] == 'i';
}

enum assay_status cuda_run_gather(struct cuda_call *call)
{
    const struct gather_attrs *attrs = call->node->attrs;
    const struct tensor *input = call->inputs[0];
    int axis = cuda_axis(attrs->axis, input->shape.rank);
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer x = cuda_at(input), y = cuda_at(&call->outputs[0]);
    struct cuda_view indices = cuda_view_of(call->inputs[1]);
    int64_t outer = cuda_span(&input->shape, 0, axis);
    int64_t size = input->shape.dims[axis];
    int64_t n = (int64_t)tensor_elements(call->inputs[1]);
    int64_t inner = cuda_span(&input->shape, axis + 1, input->shape.rank);
    int bytes = (int)dtype_bytes(input->dtype);
    cu_pointer fault = 0;

    if (!st)
        st = cuda_fault_word(call->cuda->device, &fault, call->err);
    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    return CUDA_LAUNCH(
        call, "move", "gather",
        cuda_grid_for(call->cuda->device, (size_t)(outer * n * inner), 2), x,
        indices, y, outer, size, n, inner, bytes, fault);
}

enum assay_status cuda_run_gather_elements(struct cuda_call *call)
{
    const struct gather_attrs *attrs = call->node->attrs;
    const struct tensor *input = call->inputs[0];
    int axis = cuda_axis(attrs->axis, input->shape.rank);
    enum assay_status st = cuda_output(call, 0, NULL);
    const struct tensor *output = &call->outputs[0];
    struct cuda_view x = cuda_view_of(input);
    struct cuda_view indices = cuda_view_of(call->inputs[1]);
    struct cuda_view y = cuda_view_of(output);
    int64_t size = input->shape.dims[axis], step = x.strides[axis];
    int bytes = (int)dtype_bytes(input->dtype);
    struct cuda_walk walk;
    cu_pointer fault = 0;

    if (!st)
        st = cuda_fault_word(call->cuda->device, &fault, call->err);
    if (st || !tensor_elements(output))
        return st;
    x.strides[axis] = 0;
    walk = cuda_walk_over(&output->shape,
                          (struct cuda_view *[]){&x, &indices, &y}, 3);
    return CUDA_LAUNCH(call, "move", "gather_elements",
                       cuda_grid_for(call->cuda->device, (size_t)walk.n, 2),
                       walk, x, indices, y, size, step, bytes, fault);
}

struct nd_sizes {
    int64_t of[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK];
    int n;
};

enum assay_status cuda_run_gather_nd(struct cuda_call *call)
{
    const struct gather_attrs *attrs = call->node->attrs;
    const struct shape *x_shape = &call->inputs[0]->shape;
    const struct shape *i_shape = &call->inputs[1]->shape;
    int batch = (int)attrs->batch_dims;
    struct cuda_view own = cuda_view_of(call->inputs[0]);
    struct nd_sizes sizes = {.n = (int)i_shape->dims[i_shape->rank - 1]};
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer x = cuda_at(call->inputs[0]), y = cuda_at(&call->outputs[0]);
    struct cuda_view indices = cuda_view_of(call->inputs[1]);
    int64_t outer = cuda_span(i_shape, 0, batch);
    int64_t per = cuda_span(i_shape, batch, i_shape->rank - 1);
    int64_t slice = cuda_span(x_shape, batch + sizes.n, x_shape->rank);
    int64_t x_step = cuda_span(x_shape, batch, x_shape->rank);
    int bytes = (int)dtype_bytes(call->inputs[0]->dtype);
    cu_pointer fault = 0;

    if (!st)
        st = cuda_fault_word(call->cuda->device, &fault, call->err);
    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    for (int i = 0; i < sizes.n; i++) {
        sizes.of[i] = x_shape->dims[batch + i];
        sizes.strides[i] = own.strides[batch + i];
    }
    return CUDA_LAUNCH(
        call, "move", "gather_nd",
        cuda_grid_for(call->cuda->device, (size_t)(outer * per * slice), 2), x,
        indices, y, sizes, outer, per, slice, x_step, bytes, fault);
}

/* ---- Cast ---------------------------------------------------------------- */

/* Types of 8 bits and less that are not integers of C are the host's. */
bool cuda_can_cast(const struct cuda *cuda, const struct node *node,
                   const struct tensor *const *inputs)
{
    const struct cast_attrs *attrs = node->attrs;
    enum dtype to = node->n_inputs > 1 ? inputs[1]->dtype : attrs->dtype;

    (void)cuda;
    return inputs[0]->dtype <= DTYPE_BOOL && to <= DTYPE_BOOL;
}

enum assay_status cuda_run_cast(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    const struct tensor *y = &call->outputs[0];

    return st ? st
              : cuda_copy_view(call, y->shape.rank, y->shape.dims,
                               cuda_view_of(call->inputs[0]), cuda_view_of(y));
}
