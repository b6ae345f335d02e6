/* backend/cuda/cuda_gradients.c - see cuda_backward.h: gradients that go
 * element by element, or only move. */
#include "backend/cuda/cuda_backward.h"

#include "backend/cuda/cuda_plan.h"
#include "backend/cuda/cuda_walk.h"
#include "ops/math/clip.h"
#include "ops/math/unary_math.h"
#include "ops/movement/concat.h"
#include "ops/ops.h"

#include <math.h>

bool cuda_is_ours(const struct tensor *own, const struct tensor *dy)
{
    return buffer_references(own->buffer) ==
           (own->buffer == dy->buffer ? 2 : 1);
}

/* Where a gradient that is made of dy element by element goes: over it, or
 * into memory of its own. */
static enum assay_status place_for(struct cuda_call *call,
                                   const struct tensor *own,
                                   const struct tensor *dy, struct tensor *out)
{
    if (!cuda_is_ours(own, dy))
        return cuda_tensor_new(call, &own->shape, own->layout, out);
    *out = tensor_share(own);
    return ASSAY_OK;
}

/* dy and what it is compared with, as they lie for a kernel. */
struct both {
    struct tensor dy, of;
};

static enum assay_status both_bring(struct cuda_call *call,
                                    const struct layout *layout,
                                    const struct tensor *of,
                                    const struct tensor *dy, struct both *both)
{
    enum assay_status st = cuda_in_layout(call, dy, layout, &both->dy);

    if (!st)
        st = cuda_in_layout(call, of, layout, &both->of);
    return st;
}

/* Elements of either, padding too. */
static int64_t both_elements(const struct both *both)
{
    struct tensor all = cuda_as_stored(&both->dy);

    return (int64_t)tensor_elements(&all);
}

static void both_release(struct both *both)
{
    tensor_release(&both->dy);
    tensor_release(&both->of);
}

enum assay_status cuda_pass_between(struct cuda_call *call,
                                    const struct layout *layout,
                                    const struct tensor *y,
                                    const struct tensor *dy, float low,
                                    float high, struct tensor *out)
{
    struct both both = {0};
    enum assay_status st = both_bring(call, layout, y, dy, &both);
    int64_t n = st ? 0 : both_elements(&both);
    cu_pointer of, from, to;
    char name[CUDA_NAME];

    *out = (struct tensor){0};
    if (!st)
        st = place_for(call, &both.dy, dy, out);
    of = cuda_at(&both.of);
    from = cuda_at(&both.dy);
    to = cuda_at(out);
    if (!st && n)
        st = CUDA_LAUNCH(
            call, "gradient",
            cuda_kernel_name(name, "pass_between", cuda_stored(&both.dy)),
            cuda_grid_for(call->cuda->device, (size_t)n, 8), of, from, to, low,
            high, n);
    both_release(&both);
    if (st)
        tensor_release(out);
    return st;
}

enum assay_status cuda_back_relu(struct cuda_call *call,
                                 const struct op_backward *pass)
{
    return cuda_pass_between(call, pass->outputs[0].layout, &pass->outputs[0],
                             pass->dy[0], 0, INFINITY, &pass->dx[0]);
}

enum assay_status cuda_back_clip(struct cuda_call *call,
                                 const struct op_backward *pass)
{
    const struct clip_attrs *attrs = clip_attrs(call->node);

    return cuda_pass_between(call, pass->outputs[0].layout, &pass->outputs[0],
                             pass->dy[0], attrs->low, attrs->high,
                             &pass->dx[0]);
}

/* In the order of kernels/gradient.cu. Up to here they go by their output. */
enum { slopes_by_output = 3 };

static int slope_of(const struct op_class *op)
{
    const struct op_class *const ops[] = {&op_sigmoid,      &op_tanh,
                                          &op_hard_sigmoid, &op_silu,
                                          &op_hard_swish,   &op_leaky_relu};
    int i = 0;

    while (ops[i] != op)
        i++;
    return i;
}

static float slope_number(const struct node *node)
{
    const struct unary_attrs *attrs = node->attrs;

    return node->op == &op_hard_sigmoid || node->op == &op_leaky_relu
               ? (float)attrs->alpha
               : 0;
}

enum assay_status cuda_back_activation(struct cuda_call *call,
                                       const struct op_backward *pass)
{
    int which = slope_of(call->node->op);
    const struct tensor *read =
        which < slopes_by_output ? &pass->outputs[0] : pass->inputs[0];
    struct both both = {0};
    float alpha = slope_number(call->node);
    enum assay_status st =
        both_bring(call, read->layout, read, pass->dy[0], &both);
    int64_t n = st ? 0 : both_elements(&both);
    cu_pointer of, dy, dx;
    char name[CUDA_NAME];

    if (!st)
        st = place_for(call, &both.dy, pass->dy[0], &pass->dx[0]);
    of = cuda_at(&both.of);
    dy = cuda_at(&both.dy);
    dx = cuda_at(&pass->dx[0]);
    if (!st)
        st = CUDA_LAUNCH(
            call, "gradient",
            cuda_kernel_name(name, "pass_slope", cuda_stored(&both.dy)),
            cuda_grid_for(call->cuda->device, (size_t)n, 4), which, of, dy, dx,
            alpha, n);
    both_release(&both);
    return st;
}

enum assay_status cuda_back_add(struct cuda_call *call,
                                const struct op_backward *pass)
{
    (void)call;
    for (size_t i = 0; i < 2; i++) {
        if (op_wants(pass, i))
            pass->dx[i] = tensor_share(pass->dy[0]);
    }
    return ASSAY_OK;
}

/* Channels of maps, which lie as rows in memory. */
static enum assay_status take_channels(struct cuda_call *call,
                                       struct cuda_view from,
                                       const struct tensor *dx)
{
    const int64_t *dims = dx->shape.dims;
    struct tensor all = cuda_as_stored(dx);
    struct cuda_rows rows = {.rows = dims[0] * dims[2] * dims[3],
                             .c = dims[1],
                             .wide = all.shape.dims[1],
                             .in_x = from.strides[3],
                             .in_y = all.shape.dims[1]};

    return cuda_copy_rows(call, &rows, dtype_bytes(cuda_stored(dx)), from.data,
                          cuda_at(dx));
}

/* As dy is stored; where the input was padded, so is its gradient. */
static const struct layout *part_layout(const struct cuda_call *call,
                                        const struct tensor *dy, int axis,
                                        size_t i, int64_t channels)
{
    enum dtype stored = cuda_stored(dy);
    struct cuda_rows rows = {.wide = cuda_padded(channels, stored)};
    bool is_padded;

    if (cuda_order(dy) == CUDA_ROWS)
        return dy->layout;
    is_padded =
        axis == 1 && cuda_are_short_rows(&rows, dtype_bytes(stored)) &&
        cuda_pads_value(call->cuda, call->node->inputs[i], channels, stored);
    return cuda_layout(is_padded ? CUDA_CHANNELS_PADDED : CUDA_CHANNELS_LAST,
                       stored);
}

/* A part of dy for each input. */
enum assay_status cuda_back_concat(struct cuda_call *call,
                                   const struct op_backward *pass)
{
    const struct tensor *dy = pass->dy[0];
    int axis = concat_axis(call->node, dy->shape.rank);
    struct cuda_view from = cuda_view_of(dy);
    enum assay_status st = ASSAY_OK;

    for (size_t i = 0; !st && i < call->node->n_inputs; i++) {
        const struct shape *shape = &pass->inputs[i]->shape;
        struct tensor *dx = &pass->dx[i];

        if (op_wants(pass, i))
            st = cuda_tensor_new(call, shape,
                                 part_layout(call, dy, axis, i, shape->dims[1]),
                                 dx);
        if (!st && op_wants(pass, i) && tensor_elements(dx))
            st = cuda_is_padded(dx)
                     ? take_channels(call, from, dx)
                     : cuda_copy_view(call, shape->rank, shape->dims, from,
                                      cuda_view_of(dx));
        from.data += (cu_pointer)(shape->dims[axis] * from.strides[axis]) *
                     dtype_bytes(cuda_stored(dy));
    }
    return st;
}

enum assay_status cuda_back_resize_nearest(struct cuda_call *call,
                                           const struct op_backward *pass)
{
    const struct shape *shape = &pass->inputs[0]->shape;
    const int64_t *x = shape->dims, *y = pass->dy[0]->shape.dims;
    int64_t n = x[0], c = x[1], h = x[2], w = x[3], to_h = y[2], to_w = y[3];
    const struct layout *layout = cuda_own_layout(call->cuda, 4);
    struct tensor own;
    cu_pointer dy, dx;
    char name[CUDA_NAME];
    enum assay_status st;

    if (!op_wants(pass, 0))
        return ASSAY_OK;
    st = cuda_in_layout(call, pass->dy[0], layout, &own);
    if (!st)
        st = cuda_tensor_new(call, shape, layout, &pass->dx[0]);
    dy = cuda_at(&own);
    dx = cuda_at(&pass->dx[0]);
    if (!st)
        st = CUDA_LAUNCH(
            call, "gradient",
            cuda_kernel_name(name, "resize_nearest_back", layout->stored),
            cuda_grid_for(call->cuda->device, tensor_elements(&pass->dx[0]), 1),
            dy, dx, n, h, w, c, to_h, to_w);
    tensor_release(&own);
    return st;
}
