/* backend/cuda/cuda_move.c - launches kernels/move.cu: ops that only move
 * elements. */
#include "backend/cuda/cuda_move.h"

#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/cuda_plan.h"
#include "ops/movement/concat.h"
#include "ops/movement/pad.h"
#include "ops/movement/rearrange.h"
#include "ops/movement/slice.h"
#include "ops/movement/transpose.h"
#include "ops/ops.h"

#include <string.h>

/* Elements of any type are moved. */
bool cuda_can_move(const struct cuda *cuda, const struct node *node,
                   const struct tensor *const *inputs)
{
    (void)cuda, (void)node;
    return inputs[0] != NULL;
}

/* ---- Concat, Split, Slice, Transpose, Expand ----------------------------- */

/* A part of y from `first` on along an axis. */
static struct cuda_view cuda_part_from(const struct tensor *y, int axis,
                                       int64_t first)
{
    struct cuda_view view = cuda_view_of(y);

    view.data += (size_t)(first * view.strides[axis]) *
                 dtype_bytes((enum dtype)view.type);
    return view;
}

bool cuda_can_concat(const struct cuda *cuda, const struct node *node,
                     const struct tensor *const *inputs)
{
    (void)cuda;
    for (size_t i = 0; i < node->n_inputs; i++) {
        if (!inputs[i] || inputs[i]->dtype != inputs[0]->dtype)
            return false;
    }
    return true;
}

/* Stored as the first input is, or padded. */
static const struct layout *concat_layout(const struct cuda_call *call)
{
    const struct tensor *first = call->inputs[0];
    struct tensor y = call->outputs[0];

    if (cuda_order(first) == CUDA_ROWS)
        return first->layout;
    y.layout = cuda_layout(CUDA_CHANNELS_LAST, cuda_stored(first));
    return cuda_layout(cuda_pads_map(call, &y) ? CUDA_CHANNELS_PADDED
                                               : CUDA_CHANNELS_LAST,
                       cuda_stored(first));
}

/* Zeros after the channels of each place of a padded map. */
static enum assay_status clear_padding(struct cuda_call *call,
                                       const struct tensor *y)
{
    struct tensor all = cuda_as_stored(y);
    int c = (int)y->shape.dims[1], wide = (int)all.shape.dims[1];
    int64_t n = (int64_t)(tensor_elements(&all) - tensor_elements(y));
    cu_pointer at = cuda_at(y);
    char name[CUDA_NAME];

    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(call, "reorder",
                       cuda_kernel_name(name, "clear_padding", cuda_stored(y)),
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), at, n,
                       c, wide);
}

enum assay_status cuda_run_concat(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, concat_layout(call));
    const struct tensor *y = &call->outputs[0];
    int axis = concat_axis(call->node, y->shape.rank);
    int64_t first = 0;

    if (!st && cuda_is_padded(y))
        st = clear_padding(call, y);
    for (size_t i = 0; !st && i < call->node->n_inputs; i++) {
        const struct tensor *x = call->inputs[i];

        if (tensor_elements(x))
            st =
                cuda_copy_view(call, x->shape.rank, x->shape.dims,
                               cuda_view_of(x), cuda_part_from(y, axis, first));
        first += x->shape.rank ? x->shape.dims[axis] : 1;
    }
    return st;
}

enum assay_status cuda_run_split(struct cuda_call *call)
{
    const struct split_attrs *attrs = call->node->attrs;
    const struct tensor *x = call->inputs[0];
    int axis = cuda_axis(attrs->axis, x->shape.rank);
    enum assay_status st = ASSAY_OK;
    int64_t first = 0;

    for (size_t i = 0; !st && i < call->node->n_outputs; i++) {
        const struct tensor *y = &call->outputs[i];

        st = cuda_output(call, i, x->layout);
        if (!st && tensor_elements(y))
            st =
                cuda_copy_view(call, y->shape.rank, y->shape.dims,
                               cuda_part_from(x, axis, first), cuda_view_of(y));
        first += y->shape.dims[axis];
    }
    return st;
}

static int64_t cuda_slice_held(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Inputs 1 to 4 are starts, ends, axes and steps, on the host; the output has
 * its shape already. */
enum assay_status cuda_run_slice(struct cuda_call *call)
{
    const struct tensor *x = call->inputs[0], *starts = call->inputs[1];
    const struct tensor *axes = cuda_input(call, 3);
    const struct tensor *steps = cuda_input(call, 4);
    enum assay_status st = cuda_output(call, 0, x->layout);
    const struct tensor *y = &call->outputs[0];
    struct cuda_view from = cuda_view_of(x);
    int64_t first = 0;

    if (st || !tensor_elements(y))
        return st;
    for (size_t i = 0; i < tensor_elements(starts); i++) {
        int axis =
            axes ? cuda_axis(cuda_host_number(axes, i), x->shape.rank) : (int)i;
        int64_t size = x->shape.dims[axis], start = cuda_host_number(starts, i);
        int64_t step = steps ? cuda_host_number(steps, i) : 1;

        start = start < 0 ? start + size : start;
        start = step > 0 ? cuda_slice_held(start, 0, size)
                         : cuda_slice_held(start, -1, size - 1);
        first += start * from.strides[axis];
        from.strides[axis] *= y->shape.dims[axis] > 1 ? step : 1;
    }
    from.data += (cu_pointer)(first * (int64_t)dtype_bytes(cuda_stored(x)));
    return cuda_copy_view(call, y->shape.rank, y->shape.dims, from,
                          cuda_view_of(y));
}

/* To dense memory: from channels last to [n,h,w,c] it is one long row. */
enum assay_status cuda_run_transpose(struct cuda_call *call)
{
    const struct transpose_attrs *attrs = call->node->attrs;
    const struct tensor *x = call->inputs[0];
    enum assay_status st = cuda_output(call, 0, NULL);
    const struct tensor *y = &call->outputs[0];
    struct cuda_view own = cuda_view_of(x), from = own;
    int rank = x->shape.rank;

    for (int i = 0; i < rank; i++) {
        int64_t order = attrs->rank ? attrs->order[i] : rank - 1 - i;

        from.strides[i] = own.strides[cuda_axis(order, rank)];
    }
    return st ? st
              : cuda_copy_view(call, rank, y->shape.dims, from,
                               cuda_view_of(y));
}

enum assay_status cuda_run_expand(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    const struct tensor *y = &call->outputs[0];

    return st ? st
              : cuda_copy_view(call, y->shape.rank, y->shape.dims,
                               cuda_view_repeated(call->inputs[0], &y->shape),
                               cuda_view_of(y));
}

/* ---- DepthToSpace, SpaceToDepth ------------------------------------------ */

/* Both sides are walked as n, c, h, block, w, block. */
enum assay_status cuda_run_depth(struct cuda_call *call)
{
    const struct depth_attrs *attrs = call->node->attrs;
    bool to_space = call->node->op == &op_depth_to_space;
    const struct tensor *x = call->inputs[0];
    enum assay_status st = cuda_output(call, 0, x->layout);
    const struct tensor *y = &call->outputs[0];
    const struct tensor *deep = to_space ? x : y, *wide = to_space ? y : x;
    const int64_t *dims = deep->shape.dims;
    int64_t block = attrs->block, c = dims[1] / (block * block);
    const int64_t cut[6] = {dims[0], c, dims[2], block, dims[3], block};
    struct cuda_view d = cuda_view_of(deep), w = cuda_view_of(wide);
    const int64_t ds[4] = {d.strides[0], d.strides[1], d.strides[2],
                           d.strides[3]};
    const int64_t ws[4] = {w.strides[0], w.strides[1], w.strides[2],
                           w.strides[3]};
    int64_t by_channel = attrs->is_depth_first ? block * block : 1;
    int64_t by_row = attrs->is_depth_first ? block : block * c;
    int64_t by_column = attrs->is_depth_first ? 1 : c;
    const int64_t stacked[6] = {ds[0], by_channel * ds[1],
                                ds[2], by_row * ds[1],
                                ds[3], by_column * ds[1]};
    const int64_t spread[6] = {ws[0], ws[1],         block * ws[2],
                               ws[2], block * ws[3], ws[3]};

    memcpy(d.strides, stacked, sizeof stacked);
    memcpy(w.strides, spread, sizeof spread);
    return st ? st
              : cuda_copy_view(call, 6, cut, to_space ? d : w,
                               to_space ? w : d);
}

/* ---- by rules: Pad, Tile, ResizeNearest ---------------------------------- */

struct cuda_mapping cuda_mapping_of(const struct tensor *x,
                                    const struct tensor *y)
{
    struct cuda_view in_x = cuda_view_of(x), in_y = cuda_view_of(y);
    struct cuda_mapping mapping = {.rank = x->shape.rank};

    for (int i = 0; i < mapping.rank; i++)
        mapping.axes[i] = (struct cuda_mapped_axis){.from = x->shape.dims[i],
                                                    .to = y->shape.dims[i],
                                                    .in_x = in_x.strides[i],
                                                    .in_y = in_y.strides[i]};
    return mapping;
}

enum assay_status cuda_run_mapping(struct cuda_call *call,
                                   struct cuda_mapping mapping,
                                   const struct tensor *x,
                                   const struct tensor *y, uint64_t fill)
{
    cu_pointer from = cuda_at(x), to = cuda_at(y);
    int64_t n = (int64_t)tensor_elements(y);
    int bytes = (int)dtype_bytes(cuda_stored(y));

    /* In the order of the memory of y. */
    for (int i = 1; i < mapping.rank; i++) {
        for (int k = i;
             k > 0 && mapping.axes[k - 1].in_y < mapping.axes[k].in_y; k--) {
            struct cuda_mapped_axis axis = mapping.axes[k];

            mapping.axes[k] = mapping.axes[k - 1];
            mapping.axes[k - 1] = axis;
        }
    }
    if (!n)
        return ASSAY_OK;
    return CUDA_LAUNCH(call, "move", "mapped",
                       cuda_grid_for(call->cuda->device, (size_t)n, 2), mapping,
                       from, to, n, bytes, fill);
}

/* Inputs: x, and on the host pads, the value, axes. */
enum assay_status cuda_run_pad(struct cuda_call *call)
{
    static const enum cuda_rule rules[] = {[PAD_CONSTANT] = CUDA_CONSTANT,
                                           [PAD_REFLECT] = CUDA_REFLECT,
                                           [PAD_EDGE] = CUDA_EDGE,
                                           [PAD_WRAP] = CUDA_WRAP};
    const struct pad_attrs *attrs = call->node->attrs;
    const struct tensor *x = call->inputs[0], *pads = call->inputs[1];
    const struct tensor *value = cuda_input(call, 2);
    const struct tensor *axes = cuda_input(call, 3);
    enum assay_status st = cuda_output(call, 0, NULL);
    size_t n = axes ? tensor_elements(axes) : (size_t)x->shape.rank;
    enum cuda_rule rule =
        tensor_elements(x) ? rules[attrs->mode] : CUDA_CONSTANT;
    struct cuda_mapping mapping;
    uint64_t fill = 0;

    if (st)
        return st;
    mapping = cuda_mapping_of(x, &call->outputs[0]);
    for (size_t i = 0; i < n; i++) {
        int axis =
            axes ? cuda_axis(cuda_host_number(axes, i), x->shape.rank) : (int)i;

        mapping.axes[axis].rule = (int)rule;
        mapping.axes[axis].before = cuda_host_number(pads, i);
    }
    if (value)
        memcpy(&fill, tensor_data(value), dtype_bytes(value->dtype));
    return cuda_run_mapping(call, mapping, x, &call->outputs[0], fill);
}

enum assay_status cuda_run_tile(struct cuda_call *call)
{
    const struct tensor *x = call->inputs[0];
    enum assay_status st = cuda_output(call, 0, NULL);
    struct cuda_mapping mapping;

    if (st)
        return st;
    mapping = cuda_mapping_of(x, &call->outputs[0]);
    for (int i = 0; i < mapping.rank; i++)
        mapping.axes[i].rule = CUDA_WRAP;
    return cuda_run_mapping(call, mapping, x, &call->outputs[0], 0);
}

/* Maps with channels last, moved sixteen bytes at a time; false where that
 * cannot be. */
static bool nearest_row(const struct tensor *x, const struct tensor *y,
                        int *row, int *n)
{
    enum { together = 16 };
    int64_t bytes = x->shape.dims[1] * (int64_t)dtype_bytes(cuda_stored(x));
    int64_t all = y->shape.dims[0] * y->shape.dims[2] * y->shape.dims[3] *
                  (bytes / together);

    *row = (int)(bytes / together);
    *n = (int)all;
    return cuda_order(x) == CUDA_CHANNELS_LAST && bytes % together == 0 &&
           bytes > 0 && all <= INT32_MAX && !(cuda_at(x) % together);
}

/* Only the shape of the second input counts. */
enum assay_status cuda_run_resize_nearest(struct cuda_call *call)
{
    const struct tensor *x = call->inputs[0], *y = &call->outputs[0];
    enum assay_status st = cuda_output(call, 0, x->layout);
    struct cuda_mapping mapping;
    int row, n;

    if (st)
        return st;
    if (nearest_row(x, y, &row, &n)) {
        int height = (int)x->shape.dims[2], width = (int)x->shape.dims[3];
        int to_height = (int)y->shape.dims[2], to_width = (int)y->shape.dims[3];
        cu_pointer from = cuda_at(x), to = cuda_at(y);

        return n ? CUDA_LAUNCH(call, "move", "nearest_pixels",
                               cuda_grid_for(call->cuda->device, (size_t)n, 1),
                               from, to, n, row, height, width, to_height,
                               to_width)
                 : ASSAY_OK;
    }
    mapping = cuda_mapping_of(x, y);
    mapping.axes[2].rule = mapping.axes[3].rule = CUDA_NEAREST_FLOAT;
    return cuda_run_mapping(call, mapping, x, y, 0);
}
