/* backend/cuda/cuda_detection.c - launches kernels/photo.cu, boxes.cu,
 * select.cu and roi.cu: from photographs to the features of boxes, and masks
 * back into photographs. */
#include "backend/cuda/cuda_ops.h"

#include "backend/cuda/cuda_backward.h"
#include "backend/cuda/cuda_walk.h"
#include "base/mem.h"
#include "ops/detection/anchor_grid.h"
#include "ops/detection/detection_transform.h"
#include "ops/detection/mask_ops.h"
#include "ops/detection/roi_align.h"
#include "ops/detection/rpn_decode.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

/* ---- DetectionTransform -------------------------------------------------- */

struct photo {
    cu_pointer from;
    int64_t from_height, from_width;
    int64_t height, width;
    int64_t to_height, to_width;
    int64_t strides[3];
    float mean[3], std[3];
};

static enum assay_status transform_image(struct cuda_call *call, size_t i,
                                         int64_t *size)
{
    const struct detection_transform_attrs *attrs = call->node->attrs;
    const struct tensor *batch = &call->outputs[TRANSFORM_BATCH];
    const int64_t *dims = call->inputs[i]->shape.dims;
    struct cuda_view view = cuda_view_of(batch);
    struct photo photo = {.from = cuda_at(call->inputs[i]),
                          .from_height = dims[1],
                          .from_width = dims[2],
                          .to_height = batch->shape.dims[2],
                          .to_width = batch->shape.dims[3]};
    struct cuda_grid grid = cuda_grid_for(
        call->cuda->device, (size_t)(photo.to_height * photo.to_width), 1);
    cu_pointer to = view.data + i * (size_t)view.strides[0] *
                                    dtype_bytes(cuda_stored(batch));
    char name[CUDA_NAME];

    detection_transform_size(attrs, dims[1], dims[2], &size[0], &size[1]);
    photo.height = size[0];
    photo.width = size[1];
    for (int k = 0; k < 3; k++) {
        photo.strides[k] = view.strides[k + 1];
        photo.mean[k] = attrs->mean[k];
        photo.std[k] = attrs->std[k];
    }
    cuda_kernel_name(name, "transform", cuda_stored(batch));
    return CUDA_LAUNCH(call, "photo", name, grid, photo, to);
}

enum assay_status cuda_run_detection_transform(struct cuda_call *call)
{
    size_t n = call->node->n_inputs;
    int64_t *sizes = mem_array(4 * n, sizeof *sizes), *original = sizes + 2 * n;
    enum assay_status st;

    if (!sizes)
        return error_nomem(call->err, 4 * n * sizeof *sizes, "sizes");
    st = cuda_output(call, TRANSFORM_BATCH, cuda_own_layout(call->cuda, 4));
    for (size_t i = 1; !st && i < TRANSFORM_OUTPUTS; i++)
        st = cuda_output(call, i, NULL);
    for (size_t i = 0; !st && i < n; i++) {
        original[2 * i] = call->inputs[i]->shape.dims[1];
        original[2 * i + 1] = call->inputs[i]->shape.dims[2];
        st = transform_image(call, i, sizes + 2 * i);
    }
    if (!st)
        st = cuda_put_numbers(call, sizes, 2 * n,
                              &call->outputs[TRANSFORM_SIZES]);
    if (!st)
        st = cuda_put_numbers(call, original, 2 * n,
                              &call->outputs[TRANSFORM_ORIGINAL]);
    if (!st)
        st = cuda_numbers_keep(call, call->node->outputs[TRANSFORM_ORIGINAL],
                               original, 2 * n);
    mem_free(sizes);
    return st;
}

/* ---- AnchorGrid ---------------------------------------------------------- */

struct anchor_level {
    float base[ANCHOR_MAX_RATIOS][4];
    int n_ratios;
    int64_t rows, columns, down, across;
};

/* The op's own checks of types and shapes are enough. */
bool cuda_can_any(const struct cuda *cuda, const struct node *node,
                  const struct tensor *const *inputs)
{
    (void)cuda, (void)node, (void)inputs;
    return true;
}

enum assay_status cuda_run_anchor_grid(struct cuda_call *call)
{
    const struct anchor_grid_attrs *attrs = call->node->attrs;
    const int64_t *batch = call->inputs[0]->shape.dims;
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer to = cuda_at(&call->outputs[0]);

    for (size_t i = 0; !st && i < attrs->n_levels; i++) {
        const int64_t *dims = call->inputs[1 + i]->shape.dims;
        struct anchor_level level = {.n_ratios = (int)attrs->n_ratios,
                                     .rows = dims[2],
                                     .columns = dims[3],
                                     .down = batch[2] / dims[2],
                                     .across = batch[3] / dims[3]};
        size_t n = (size_t)(dims[2] * dims[3]) * attrs->n_ratios;

        for (size_t k = 0; k < attrs->n_ratios; k++) {
            float height = sqrtf(attrs->ratios[k]), width = 1 / height;
            float x = rintf(width * attrs->sizes[i] / 2);
            float y = rintf(height * attrs->sizes[i] / 2);
            const float box[4] = {-x, -y, x, y};

            for (int c = 0; c < 4; c++)
                level.base[k][c] = box[c];
        }
        if (n)
            st =
                CUDA_LAUNCH(call, "boxes", "anchor_grid",
                            cuda_grid_for(call->cuda->device, n, 1), level, to);
        to += n * 4 * sizeof(float);
    }
    return st;
}

/* ---- RpnDecode ----------------------------------------------------------- */

enum { max_levels = 8 };

struct delta_levels {
    struct cuda_view deltas[max_levels];
    int64_t columns[max_levels], n_anchors[max_levels];
    int n_ratios[max_levels];
    int n_levels;
};

bool cuda_can_rpn_decode(const struct cuda *cuda, const struct node *node,
                         const struct tensor *const *inputs)
{
    (void)cuda, (void)inputs;
    return node->n_inputs <= RPN_DECODE_DELTAS + max_levels;
}

enum assay_status cuda_run_rpn_decode(struct cuda_call *call)
{
    const struct tensor *counts_of = call->inputs[RPN_DECODE_COUNTS];
    struct delta_levels levels = {
        .n_levels = (int)(call->node->n_inputs - RPN_DECODE_DELTAS)};
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer chosen = cuda_at(call->inputs[RPN_DECODE_CHOSEN]);
    cu_pointer counts = cuda_at(counts_of);
    cu_pointer anchors = cuda_at(call->inputs[RPN_DECODE_ANCHORS]);
    cu_pointer sizes = cuda_at(call->inputs[RPN_DECODE_SIZES]);
    cu_pointer to = cuda_at(&call->outputs[0]);
    int64_t n = call->outputs[0].shape.dims[0];
    int64_t n_images = counts_of->shape.dims[0];

    if (st || !n)
        return st;
    for (int i = 0; i < levels.n_levels; i++) {
        const struct tensor *map = call->inputs[RPN_DECODE_DELTAS + i];
        const int64_t *dims = map->shape.dims;

        levels.deltas[i] = cuda_view_of(map);
        levels.columns[i] = dims[3];
        levels.n_ratios[i] = (int)(dims[1] / 4);
        levels.n_anchors[i] = dims[1] / 4 * dims[2] * dims[3];
    }
    return CUDA_LAUNCH(call, "boxes", "rpn_decode",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), levels,
                       chosen, counts, anchors, sizes, to, n, n_images);
}

/* ---- RoiAlign ------------------------------------------------------------ */

struct roi_maps {
    struct cuda_view maps[ROI_ALIGN_MAX_LEVELS];
    int heights[ROI_ALIGN_MAX_LEVELS], widths[ROI_ALIGN_MAX_LEVELS];
    int n;
    int size, points;
    float canonical_size, canonical_level;
};

/* Whether another op than a view reads the value: it is stored as maps are
 * then. A view wants rows. */
static bool is_read_as_map(const struct graph *graph, uint32_t value)
{
    for (size_t i = 0; i < graph_node_count(graph); i++) {
        const struct node *node = graph_node(graph, i);

        for (size_t k = 0; k < node->n_inputs; k++) {
            if (node->inputs[k] == value && !node->op->is_view)
                return true;
        }
    }
    return false;
}

bool cuda_can_roi_align(const struct cuda *cuda, const struct node *node,
                        const struct tensor *const *inputs)
{
    const struct roi_align_attrs *attrs = node->attrs;

    (void)cuda, (void)inputs;
    /* What one block has room for. */
    return attrs->size <= 14 && attrs->sampling_ratio <= ROI_ALIGN_MAX_RATIO;
}

static struct roi_maps roi_maps_of(const struct node *node,
                                   const struct tensor *const *inputs)
{
    const struct roi_align_attrs *attrs = node->attrs;
    struct roi_maps maps = {.n = (int)(node->n_inputs - ROI_ALIGN_MAPS),
                            .size = (int)attrs->size,
                            .points = (int)attrs->sampling_ratio,
                            .canonical_size = attrs->canonical_size,
                            .canonical_level = attrs->canonical_level};

    for (int i = 0; i < maps.n; i++) {
        const struct tensor *map = inputs[ROI_ALIGN_MAPS + i];

        maps.maps[i] = cuda_view_of(map);
        maps.heights[i] = (int)map->shape.dims[2];
        maps.widths[i] = (int)map->shape.dims[3];
    }
    return maps;
}

enum assay_status cuda_run_roi_align(struct cuda_call *call)
{
    enum { channels_together = 64 };
    const struct roi_align_attrs *attrs = call->node->attrs;
    const int64_t *y_dims = call->outputs[0].shape.dims;
    const struct layout *layout = cuda_own_layout(call->cuda, 4);
    struct roi_maps maps = roi_maps_of(call->node, call->inputs);
    cu_pointer boxes = cuda_at(call->inputs[ROI_ALIGN_BOXES]);
    cu_pointer counts = cuda_at(call->inputs[ROI_ALIGN_COUNTS]);
    cu_pointer sizes = cuda_at(call->inputs[ROI_ALIGN_SIZES]);
    int64_t n_images = call->inputs[ROI_ALIGN_COUNTS]->shape.dims[0];
    int64_t channels = y_dims[1], n = y_dims[0];
    struct cuda_grid grid = {
        (unsigned)n,
        (unsigned)((channels + channels_together - 1) / channels_together), 1,
        256,
        (unsigned)(attrs->size * attrs->size * channels_together) *
            (unsigned)sizeof(float)};
    char name[CUDA_NAME];
    enum assay_status st;
    cu_pointer y;
    int is_turned;

    if (!is_read_as_map(call->cuda->graph, call->node->outputs[0]))
        layout = NULL;
    st = cuda_output(call, 0, layout);
    if (st || !n || !channels)
        return st;
    y = cuda_at(&call->outputs[0]);
    is_turned = !layout;
    cuda_kernel_name(name, "roi_align", cuda_stored(&call->outputs[0]));
    return CUDA_LAUNCH(call, "roi", name, grid, maps, boxes, counts, sizes,
                       n_images, channels, is_turned, y);
}

/* As struct roi_plan in kernels/roi.cu. */
enum { roi_most_bins = 14, roi_tap_bytes = 68 };
static const size_t roi_plan_bytes =
    5 * sizeof(int) + (size_t)2 * roi_most_bins * roi_tap_bytes;

/* dx of one level; dy has its channels last. */
static enum assay_status roi_gather(struct cuda_call *call,
                                    const struct op_backward *pass, int level,
                                    cu_pointer plans, cu_pointer dy)
{
    enum { tile = 4, threads = 256 };
    const struct roi_align_attrs *attrs = call->node->attrs;
    size_t input = ROI_ALIGN_MAPS + (size_t)level;
    const struct shape *shape = &pass->inputs[input]->shape;
    int channels = (int)shape->dims[1], height = (int)shape->dims[2];
    int width = (int)shape->dims[3], size = (int)attrs->size;
    struct cuda_grid grid = {(unsigned)(height * ((width + tile - 1) / tile)),
                             (unsigned)shape->dims[0],
                             (unsigned)((channels + threads - 1) / threads),
                             threads, 0};
    cu_pointer counts = cuda_at(pass->inputs[ROI_ALIGN_COUNTS]), dx;
    enum assay_status st =
        cuda_tensor_new(call, shape, cuda_map_layout(), &pass->dx[input]);

    dx = cuda_at(&pass->dx[input]);
    if (st || !tensor_elements(&pass->dx[input]))
        return st;
    return CUDA_LAUNCH(call, "roi", "roi_gather", grid, plans, counts, level,
                       size, height, width, channels, dy, dx);
}

/* Boxes have no gradient. */
enum assay_status cuda_back_roi_align(struct cuda_call *call,
                                      const struct op_backward *pass)
{
    struct roi_maps maps = roi_maps_of(call->node, pass->inputs);
    cu_pointer boxes = cuda_at(pass->inputs[ROI_ALIGN_BOXES]);
    cu_pointer sizes = cuda_at(pass->inputs[ROI_ALIGN_SIZES]);
    int64_t n_images = pass->inputs[ROI_ALIGN_COUNTS]->shape.dims[0];
    int64_t n = pass->inputs[ROI_ALIGN_BOXES]->shape.dims[0];
    struct cuda_grid grid = {(unsigned)n, 1, 1, 32, 0};
    struct tensor dy;
    struct buffer *scratch = NULL;
    cu_pointer plans = 0;
    enum assay_status st =
        cuda_in_layout(call, pass->dy[0], cuda_map_layout(), &dy);

    if (!st)
        st = cuda_scratch(call, (size_t)n * roi_plan_bytes, &scratch);
    if (!st) {
        plans = (cu_pointer)(uintptr_t)buffer_data(scratch);
        st = CUDA_LAUNCH(call, "roi", "roi_plan_boxes", grid, maps, boxes,
                         sizes, n_images, plans);
    }
    for (int i = 0; !st && i < maps.n; i++) {
        if (op_wants(pass, ROI_ALIGN_MAPS + (size_t)i))
            st = roi_gather(call, pass, i, plans, cuda_at(&dy));
    }
    buffer_release(scratch);
    tensor_release(&dy);
    return st;
}

/* ---- boxes and masks of photographs -------------------------------------- */

enum assay_status cuda_run_resize_boxes(struct cuda_call *call)
{
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer from = cuda_at(call->inputs[0]);
    cu_pointer counts = cuda_at(call->inputs[1]);
    cu_pointer sizes = cuda_at(call->inputs[2]);
    cu_pointer original = cuda_at(call->inputs[3]);
    cu_pointer to = cuda_at(&call->outputs[0]);
    int64_t n = call->outputs[0].shape.dims[0];
    int64_t n_images = call->inputs[1]->shape.dims[0];

    if (st || !n)
        return st;
    return CUDA_LAUNCH(call, "boxes", "resize_boxes",
                       cuda_grid_for(call->cuda->device, (size_t)n, 1), from,
                       counts, sizes, original, to, n, n_images);
}

enum assay_status cuda_run_mask_select(struct cuda_call *call)
{
    const int64_t *dims = call->inputs[0]->shape.dims;
    struct cuda_view logits = cuda_view_of(call->inputs[0]);
    enum assay_status st = cuda_output(call, 0, NULL);
    cu_pointer labels = cuda_at(call->inputs[1]);
    cu_pointer y = cuda_at(&call->outputs[0]);
    int64_t n = dims[0], classes = dims[1], height = dims[2], width = dims[3];

    if (st || !tensor_elements(&call->outputs[0]))
        return st;
    return CUDA_LAUNCH(
        call, "photo", "mask_select",
        cuda_grid_for(call->cuda->device, (size_t)(n * height * width), 1),
        logits, labels, y, n, classes, height, width);
}

/* Room for `room` masks of photograph i, and the masks that there are. */
static enum assay_status cuda_paste_image(struct cuda_call *call, size_t i,
                                          int64_t room, const int64_t *size)
{
    const struct paste_masks_attrs *attrs = call->node->attrs;
    int64_t plane = size[0] * size[1], image = (int64_t)i;
    int side = (int)call->inputs[0]->shape.dims[2];
    int height = (int)size[0], width = (int)size[1];
    cu_pointer masks = cuda_at(call->inputs[0]);
    cu_pointer boxes = cuda_at(call->inputs[1]);
    cu_pointer counts = cuda_at(call->inputs[2]);
    struct cuda_grid grid =
        cuda_grid_for(call->cuda->device, (size_t)plane, 16);
    cu_pointer to;
    enum assay_status st;

    call->outputs[i] = (struct tensor){
        .dtype = attrs->is_soft ? DTYPE_F32 : DTYPE_U8,
        .shape = shape_of(4, room, (int64_t)1, size[0], size[1])};
    st = cuda_output(call, i, NULL);
    if (st || !plane || !room)
        return st;
    to = cuda_at(&call->outputs[i]);
    grid.y = (unsigned)room;
    return CUDA_LAUNCH(call, "photo",
                       attrs->is_soft ? "paste_soft" : "paste_hard", grid,
                       masks, boxes, counts, image, to, side, height, width);
}

/* How many masks each photograph has, or has room for; their sizes. */
static enum assay_status paste_shapes(struct cuda_call *call, int64_t *counts,
                                      int64_t *sizes)
{
    size_t n = call->node->n_outputs;
    const int64_t *known =
        cuda_numbers_find(call, call->node->inputs[3], 2 * n);
    enum assay_status st = ASSAY_OK;

    if (known)
        memcpy(sizes, known, 2 * n * sizeof *sizes);
    else
        st = cuda_read_back(call, cuda_at(call->inputs[3]), sizes,
                            2 * n * sizeof *sizes);
    for (size_t i = 0; i < n; i++)
        counts[i] = call->inputs[0]->shape.dims[0] / (int64_t)n;
    if (!st && !call->cuda->keeps_rooms)
        st = cuda_read_back(call, cuda_at(call->inputs[2]), counts,
                            n * sizeof *counts);
    return st;
}

enum assay_status cuda_run_paste_masks(struct cuda_call *call)
{
    size_t n = call->node->n_outputs;
    int64_t *numbers = mem_array(3 * n, sizeof *numbers);
    enum assay_status st;

    if (!numbers)
        return error_nomem(call->err, 3 * n * sizeof *numbers, "sizes");
    st = paste_shapes(call, numbers, numbers + n);
    for (size_t i = 0; !st && i < n; i++)
        st = cuda_paste_image(call, i, numbers[i], numbers + n + 2 * i);
    mem_free(numbers);
    return st;
}
