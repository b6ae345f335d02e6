/* backend/cuda/cuda_rows.c - launches kernels/rows.cu: ops along axes. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_walk.h"
#include "ops/math/arg_max.h"
#include "ops/math/reduce.h"
#include "ops/math/softmax.h"
#include "ops/ops.h"

#include <stdio.h>

enum { block_threads = 256, few = 64 /* elements that one thread reads */ };

/* A block for each of n things. */
static struct cuda_grid grid_of_blocks(const struct cuda_device *device,
                                       int64_t n)
{
    int64_t most = 64 * (int64_t)device->n_multiprocessors;

    return (struct cuda_grid){(unsigned)(n < most ? n : most), 1, 1,
                              block_threads, 0};
}

/* ---- Softmax and the like ------------------------------------------------ */

bool cuda_can_softmax(const struct cuda *cuda, const struct node *node,
                      const struct tensor *const *inputs)
{
    (void)cuda, (void)node;
    return inputs[0]->dtype == DTYPE_F32 || inputs[0]->dtype == DTYPE_F64;
}

enum assay_status cuda_run_softmax(struct cuda_call *call)
{
    const struct softmax_attrs *attrs = call->node->attrs;
    const struct tensor *input = call->inputs[0];
    const struct shape *shape = &input->shape;
    int axis = attrs->axis == shape->rank ? shape->rank
                                          : cuda_axis(attrs->axis, shape->rank);
    bool is_rest = attrs->is_flat || axis >= shape->rank;
    int op = call->node->op == &op_softmax       ? 0
             : call->node->op == &op_log_softmax ? 1
                                                 : 2;
    int64_t outer = cuda_span(shape, 0, axis), inner = 1;
    int64_t n =
        is_rest ? cuda_span(shape, axis, shape->rank) : shape->dims[axis];
    int by_block;
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer x = cuda_at(input), y = cuda_at(&call->outputs[0]);
    struct cuda_grid grid;

    if (st || !tensor_elements(input))
        return st;
    if (!is_rest)
        inner = cuda_span(shape, axis + 1, shape->rank);
    by_block = n > few && (inner == 1 || outer * inner < 4096);
    grid = by_block
               ? grid_of_blocks(call->cuda->device, outer * inner)
               : cuda_grid_for(call->cuda->device, (size_t)(outer * inner), 1);
    return CUDA_LAUNCH(call, "rows",
                       input->dtype == DTYPE_F32 ? "softmax_float"
                                                 : "softmax_double",
                       grid, op, x, y, outer, n, inner, by_block);
}

/* ---- ArgMax, ArgMin, CumSum ---------------------------------------------- */

/* Of numbers, not of bool. */
bool cuda_can_number(const struct cuda *cuda, const struct node *node,
                     const struct tensor *const *inputs)
{
    (void)cuda, (void)node;
    return inputs[0]->dtype != DTYPE_BOOL;
}

enum assay_status cuda_run_arg_max(struct cuda_call *call)
{
    const struct arg_max_attrs *attrs = call->node->attrs;
    const struct tensor *input = call->inputs[0];
    const struct shape *shape = &input->shape;
    int axis = cuda_axis(attrs->axis, shape->rank);
    int64_t outer = cuda_span(shape, 0, axis), n = shape->dims[axis];
    int64_t inner = cuda_span(shape, axis + 1, shape->rank);
    int is_max = call->node->op == &op_arg_max;
    int takes_last = attrs->takes_last;
    enum assay_status st = cuda_output(call, 0, NULL);
    struct cuda_view x = cuda_view_of(input);
    cu_pointer y = cuda_at(&call->outputs[0]);
    struct cuda_grid grid =
        cuda_grid_for(call->cuda->device, (size_t)(outer * inner), 1);
    char name[CUDA_NAME];

    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    if (inner == 1 && n > few && input->dtype == DTYPE_F32) {
        grid = (struct cuda_grid){(unsigned)outer, 1, 1, block_threads, 0};
        return CUDA_LAUNCH(call, "rows", "arg_best_long", grid, x.data, y, n,
                           is_max, takes_last);
    }
    snprintf(name, sizeof name, "arg_best_%s", cuda_computed_in(input->dtype));
    return CUDA_LAUNCH(call, "rows", name, grid, x, y, outer, n, inner, is_max,
                       takes_last);
}

enum assay_status cuda_run_cum_sum(struct cuda_call *call)
{
    const struct cum_sum_attrs *attrs = call->node->attrs;
    const struct tensor *input = call->inputs[0];
    const struct shape *shape = &input->shape;
    int axis = cuda_axis(cuda_host_number(call->inputs[1], 0), shape->rank);
    int64_t outer = cuda_span(shape, 0, axis), n = shape->dims[axis];
    int64_t inner = cuda_span(shape, axis + 1, shape->rank);
    int is_exclusive = attrs->is_exclusive, is_reverse = attrs->is_reverse;
    enum assay_status st = cuda_output(call, 0, NULL);
    struct cuda_view x = cuda_view_of(input);
    struct cuda_view y = cuda_view_of(&call->outputs[0]);
    char name[CUDA_NAME];

    if (st || !tensor_elements(input))
        return st;
    snprintf(name, sizeof name, "cum_sum_%s", cuda_computed_in(input->dtype));
    return CUDA_LAUNCH(
        call, "rows", name,
        cuda_grid_for(call->cuda->device, (size_t)(outer * inner), 1), x, y,
        outer, n, inner, is_exclusive, is_reverse);
}

/* ---- reductions ---------------------------------------------------------- */

/* In the order of kernels/rows.cu. */
static const struct op_class *const reductions[] = {
    &op_reduce_sum,         &op_reduce_mean,    &op_reduce_max,
    &op_reduce_min,         &op_reduce_prod,    &op_reduce_l1,
    &op_reduce_l2,          &op_reduce_log_sum, &op_reduce_sum_square,
    &op_reduce_log_sum_exp,
};

static unsigned reduced_axes(const struct cuda_call *call)
{
    const struct reduce_attrs *attrs = call->node->attrs;
    const struct tensor *list = cuda_input(call, 1);
    int rank = call->inputs[0]->shape.rank;
    size_t n = list ? tensor_elements(list) : 0;
    unsigned axes = 0;

    for (size_t i = 0; i < n; i++)
        axes |= 1U << cuda_axis(cuda_host_number(list, i), rank);
    return n || attrs->empty_is_none ? axes : (1U << rank) - 1;
}

/* What is left and what comes together, each with its strides. */
struct reduction {
    struct cuda_view x, y, inside;
    struct cuda_walk kept, reduced;
};

static struct reduction plan_reduction(const struct cuda_call *call)
{
    const struct tensor *input = call->inputs[0];
    const struct reduce_attrs *attrs = call->node->attrs;
    struct cuda_view own = cuda_view_of(input);
    struct cuda_view made = cuda_view_of(&call->outputs[0]);
    struct reduction r = {.x = own, .y = made, .inside = own};
    unsigned axes = reduced_axes(call);
    int64_t kept[SHAPE_MAX_RANK], reduced[SHAPE_MAX_RANK];
    int n_kept = 0, n_reduced = 0, at = 0;

    for (int i = 0; i < input->shape.rank; i++) {
        if (axes >> i & 1) {
            r.inside.strides[n_reduced] = own.strides[i];
            reduced[n_reduced++] = input->shape.dims[i];
            at += attrs->keeps_dims;
        } else {
            r.x.strides[n_kept] = own.strides[i];
            r.y.strides[n_kept] = made.strides[at++];
            kept[n_kept++] = input->shape.dims[i];
        }
    }
    r.kept =
        cuda_walk_dims(n_kept, kept, (struct cuda_view *[]){&r.x, &r.y}, 2);
    r.reduced = cuda_walk_dims(n_reduced, reduced,
                               (struct cuda_view *[]){&r.inside}, 1);
    return r;
}

enum assay_status cuda_run_reduce(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    struct cuda_device *device = call->cuda->device;
    struct reduction r = plan_reduction(call);
    int op = 0, lanes = 1, last = r.kept.rank - 1;
    bool is_across = last >= 0 && r.x.strides[last] == 1;
    struct cuda_grid grid;
    char name[CUDA_NAME];

    if (st || !r.kept.n)
        return st;
    while (reductions[op] != call->node->op)
        op++;
    /* Neighbouring threads read neighbouring elements. */
    if (r.reduced.n > few &&
        (!is_across || r.kept.n * 4 < (int64_t)device->n_multiprocessors * 256))
        lanes = block_threads;
    grid = lanes > 1 ? grid_of_blocks(device, r.kept.n)
                     : cuda_grid_for(device, (size_t)r.kept.n, 1);
    snprintf(name, sizeof name, "reduce_%s",
             cuda_computed_in(call->inputs[0]->dtype));
    return CUDA_LAUNCH(call, "rows", name, grid, op, r.x, r.y, r.kept,
                       r.reduced, r.inside, lanes);
}
