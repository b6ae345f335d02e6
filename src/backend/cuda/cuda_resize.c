/* backend/cuda/cuda_resize.c - Resize, by the kernels of kernels/move.cu. */
#include "backend/cuda/cuda_move.h"

#include "backend/cuda/cuda_ops.h"
#include "ops/movement/resize.h"
#include "ops/ops.h"

enum { RESIZE_ROI = 1, RESIZE_SCALES, RESIZE_SIZES };

/* kernels/move.cu. */
struct resize_taps {
    int64_t at[4];
    float weights[4];
    int is_outside;
};

static double resize_number(const struct tensor *x, size_t i)
{
    return x->dtype == DTYPE_F64 ? ((const double *)tensor_data(x))[i]
                                 : (double)((const float *)tensor_data(x))[i];
}

/* Older exporters pass an empty tensor for an input that is left out. */
static const struct tensor *resize_setting(const struct cuda_call *call,
                                           size_t i)
{
    const struct tensor *x = cuda_input(call, i);

    return x && tensor_elements(x) ? x : NULL;
}

/* Sets how the axes change, but for their rules. */
static void set_axes(const struct cuda_call *call, struct cuda_mapping *mapping)
{
    const struct resize_attrs *attrs = call->node->attrs;
    const struct tensor *roi = resize_setting(call, RESIZE_ROI);
    const struct tensor *scales = resize_setting(call, RESIZE_SCALES);
    bool has_sizes = resize_setting(call, RESIZE_SIZES);

    for (int i = 0; i < mapping->rank; i++) {
        struct cuda_mapped_axis *axis = &mapping->axes[i];
        size_t at = (size_t)i, end = (size_t)mapping->rank + at;

        axis->place = (int)attrs->place;
        axis->nearest = (int)attrs->nearest;
        axis->end = 1;
        if (attrs->place == RESIZE_CROP) {
            axis->start = resize_number(roi, at);
            axis->end = resize_number(roi, end);
        }
        if (has_sizes)
            axis->scale =
                axis->from ? (double)axis->to / (double)axis->from : 1;
        else
            axis->scale = resize_number(scales, at);
    }
}

static bool cuda_axis_is_kept(const struct cuda_mapped_axis *axis)
{
    return axis->from == axis->to && axis->scale == 1 && axis->start == 0 &&
           axis->end == 1;
}

bool cuda_can_resize(const struct cuda *cuda, const struct node *node,
                     const struct tensor *const *inputs)
{
    const struct resize_attrs *attrs = node->attrs;

    (void)cuda;
    if (attrs->place > RESIZE_CROP || attrs->antialias ||
        attrs->aspect != RESIZE_STRETCH || attrs->n_axes)
        return false;
    /* Elements outside of a region have a value of their own. */
    if (attrs->mode == RESIZE_NEAREST)
        return attrs->place != RESIZE_CROP;
    return inputs[0]->dtype == DTYPE_F32;
}

static enum assay_status resize_by_nearest(struct cuda_call *call)
{
    const struct tensor *x = call->inputs[0];
    enum assay_status st = cuda_output(call, 0, x->layout);
    struct cuda_mapping mapping;

    if (st)
        return st;
    mapping = cuda_mapping_of(x, &call->outputs[0]);
    set_axes(call, &mapping);
    for (int i = 0; i < mapping.rank; i++)
        mapping.axes[i].rule =
            cuda_axis_is_kept(&mapping.axes[i]) ? CUDA_KEEP : CUDA_NEAREST;
    return cuda_run_mapping(call, mapping, x, &call->outputs[0], 0);
}

/* Replaces *x by the tensor with one axis changed, which is y if that is not
 * NULL. */
static enum assay_status cuda_change_axis(struct cuda_call *call, int at,
                                          struct cuda_mapped_axis axis,
                                          const struct tensor *y,
                                          struct tensor *x)
{
    const struct resize_attrs *attrs = call->node->attrs;
    struct cuda_device *device = call->cuda->device;
    struct shape shape = x->shape;
    int64_t outer = cuda_span(&shape, 0, at);
    int64_t inner = cuda_span(&shape, at + 1, shape.rank);
    int n_taps = attrs->mode == RESIZE_CUBIC ? 4 : 2;
    int excludes_outside = attrs->excludes_outside;
    float cubic = attrs->cubic, outside = attrs->outside;
    struct tensor made = {0};
    struct buffer *scratch = NULL;
    cu_pointer taps, from = cuda_at(x), to;
    enum assay_status st = cuda_scratch(
        call, (size_t)axis.to * sizeof(struct resize_taps), &scratch);

    shape.dims[at] = axis.to;
    if (!st && y)
        made = tensor_share(y);
    else if (!st)
        st = cuda_tensor_new(call, &shape, NULL, &made);
    if (!st) {
        taps = (cu_pointer)(uintptr_t)buffer_data(scratch);
        st = CUDA_LAUNCH(call, "move", "make_taps",
                         cuda_grid_for(device, (size_t)axis.to, 1), axis,
                         n_taps, cubic, excludes_outside, taps);
    }
    to = cuda_at(&made);
    if (!st)
        st = CUDA_LAUNCH(
            call, "move", "resize_axis",
            cuda_grid_for(device, (size_t)(outer * axis.to * inner), 2), from,
            to, taps, outer, axis.from, axis.to, inner, n_taps, outside);
    buffer_release(scratch);
    tensor_release(x);
    *x = made;
    return st;
}

/* From the last axis to the first, as the portable kernel does. */
static enum assay_status resize_by_taps(struct cuda_call *call)
{
    struct tensor x = {0};
    enum assay_status st = cuda_output(call, 0, NULL);
    const struct tensor *y = &call->outputs[0];
    struct cuda_mapping mapping;
    int first;

    if (st || !tensor_elements(y))
        return st;
    st = cuda_in_layout(call, call->inputs[0], NULL, &x);
    if (st)
        return st;
    mapping = cuda_mapping_of(&x, y);
    set_axes(call, &mapping);
    first = 0;
    while (first < mapping.rank && cuda_axis_is_kept(&mapping.axes[first]))
        first++;
    if (first == mapping.rank)
        st = cuda_copy_view(call, y->shape.rank, y->shape.dims,
                            cuda_view_of(&x), cuda_view_of(y));
    for (int i = mapping.rank - 1; !st && i >= first; i--) {
        if (!cuda_axis_is_kept(&mapping.axes[i]))
            st = cuda_change_axis(call, i, mapping.axes[i],
                                  i == first ? y : NULL, &x);
    }
    tensor_release(&x);
    return st;
}

enum assay_status cuda_run_resize(struct cuda_call *call)
{
    const struct resize_attrs *attrs = call->node->attrs;

    return attrs->mode == RESIZE_NEAREST ? resize_by_nearest(call)
                                         : resize_by_taps(call);
}
