/* ops/detection/roi_align.c - see roi_align.h. */
#include "ops/detection/roi_align.h"

#include "ops/attr_fields.h"
#include "ops/channels.h"
#include "ops/detection/boxes.h"
#include "ops/detection/roi_pool_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

static enum assay_status check_attrs(const struct node *node, struct error *err)
{
    const struct roi_align_attrs *attrs = node->attrs;

    if (attrs->size >= 1 && attrs->size <= ROI_ALIGN_MAX_SIZE &&
        attrs->sampling_ratio >= 1 &&
        attrs->sampling_ratio <= ROI_ALIGN_MAX_RATIO)
        return ASSAY_OK;
    return error_set(err, ASSAY_UNSUPPORTED,
                     "an output of %lld with %lld points per bin; up to %d and "
                     "%d are supported",
                     (long long)attrs->size, (long long)attrs->sampling_ratio,
                     ROI_ALIGN_MAX_SIZE, ROI_ALIGN_MAX_RATIO);
}

static enum assay_status roi_align_infer(const struct node *node,
                                         const struct tensor *const *inputs,
                                         struct tensor *outputs,
                                         struct error *err)
{
    const struct roi_align_attrs *attrs = node->attrs;
    const struct shape *first = &inputs[ROI_ALIGN_MAPS]->shape;
    enum assay_status st = check_attrs(node, err);
    struct shape y;

    if (!st)
        st = boxes_check_list(inputs[ROI_ALIGN_BOXES], err);
    for (size_t i = ROI_ALIGN_MAPS; !st && i < node->n_inputs; i++) {
        const struct shape *map = &inputs[i]->shape;
        char text[64];

        st = rule_rank(inputs, i, 4, err);
        if (!st &&
            (map->dims[0] != first->dims[0] || map->dims[1] != first->dims[1] ||
             map->dims[2] < 1 || map->dims[3] < 1))
            st = error_set(err, ASSAY_BAD_INPUT,
                           "map %s does not have the images or channels of "
                           "the first",
                           shape_text(map, text, sizeof text));
    }
    if (st)
        return st;
    y = shape_of(4, inputs[ROI_ALIGN_BOXES]->shape.dims[0], first->dims[1],
                 attrs->size, attrs->size);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

/* The levels to pool from, and how their maps are scaled. */
struct pyramid {
    const struct roi_map *maps;
    size_t n_maps;
    float scales[ROI_ALIGN_MAX_LEVELS];
    float first_level; /* -log2 of the first scale */
};

/* The scale of a map is its height relative to the largest image, rounded to a
 * power of two. */
static struct pyramid make_pyramid(const struct roi_map *maps, size_t n_maps,
                                   const struct tensor *sizes)
{
    struct pyramid pyramid = {.maps = maps, .n_maps = n_maps};
    int64_t height = 1;

    for (int64_t i = 0; i < sizes->shape.dims[0]; i++) {
        int64_t of_image = tensor_i64(sizes)[2 * i];

        height = of_image > height ? of_image : height;
    }
    for (size_t i = 0; i < n_maps; i++) {
        float ratio = (float)((double)maps[i].height / (double)height);

        pyramid.scales[i] = exp2f(rintf(log2f(ratio)));
    }
    pyramid.first_level = -log2f(pyramid.scales[0]);
    return pyramid;
}

/* Equation 1 of Lin et al., "Feature Pyramid Networks" (2017). */
static size_t roi_align_level_of(const struct pyramid *pyramid,
                                 const struct roi_align_attrs *attrs,
                                 struct box box)
{
    float side = sqrtf(box_area(box));
    float level = floorf(attrs->canonical_level +
                         log2f(side / attrs->canonical_size) + 1e-6F) -
                  pyramid->first_level;
    size_t last = pyramid->n_maps - 1;

    if (!(level > 0))
        return 0;
    return level < (float)last ? (size_t)level : last;
}

static struct roi make_roi(const struct pyramid *pyramid,
                           const struct roi_align_attrs *attrs, struct box box,
                           int64_t image)
{
    size_t level = roi_align_level_of(pyramid, attrs, box);
    const struct roi_map *map = &pyramid->maps[level];
    float scale = pyramid->scales[level];
    float x = box.x1 * scale, y = box.y1 * scale;
    float width = box.x2 * scale - x, height = box.y2 * scale - y;

    return (struct roi){
        .map = map,
        .image = image,
        .size = attrs->size,
        .down = roi_make_side(y, height > 1 ? height : 1, attrs->size,
                              attrs->sampling_ratio, map->height),
        .across = roi_make_side(x, width > 1 ? width : 1, attrs->size,
                                attrs->sampling_ratio, map->width),
    };
}

static float roi_align_value_at(const struct roi *roi, int64_t channel,
                                int64_t y, int64_t x)
{
    const struct roi_map *map = roi->map;
    int64_t plane = map->height * map->width, at = y * map->width + x;
    int64_t block = map->block ? map->block : 1;
    int64_t n_blocks = (map->channels + block - 1) / block;

    return map->data[((roi->image * n_blocks + channel / block) * plane + at) *
                         block +
                     channel % block];
}

/* The mean of the points of one bin. */
static float bin_mean(const struct roi *roi, int64_t channel, int64_t row,
                      int64_t col)
{
    int64_t n = roi->down.points;
    float sum = 0;

    for (int64_t i = 0; i < n; i++) {
        struct tap y, x;

        if (!roi_point(&roi->down, row, i, &y))
            continue;
        for (int64_t k = 0; k < n; k++) {
            if (!roi_point(&roi->across, col, k, &x))
                continue;
            sum += y.low_weight * x.low_weight *
                       roi_align_value_at(roi, channel, y.low, x.low) +
                   y.low_weight * x.high_weight *
                       roi_align_value_at(roi, channel, y.low, x.high) +
                   y.high_weight * x.low_weight *
                       roi_align_value_at(roi, channel, y.high, x.low) +
                   y.high_weight * x.high_weight *
                       roi_align_value_at(roi, channel, y.high, x.high);
        }
    }
    return sum / (float)(n * n);
}

static void pool_reference(const struct roi *roi, float *output)
{
    for (int64_t c = 0; c < roi->map->channels; c++) {
        for (int64_t row = 0; row < roi->size; row++) {
            for (int64_t col = 0; col < roi->size; col++)
                *output++ = bin_mean(roi, c, row, col);
        }
    }
}

static enum assay_status roi_align_check(const struct tensor *const *inputs,
                                         const struct roi_map *maps,
                                         size_t n_maps, struct error *err)
{
    const struct tensor *counts = inputs[ROI_ALIGN_COUNTS];
    enum assay_status st =
        boxes_check_counts(counts, inputs[ROI_ALIGN_BOXES]->shape.dims[0], err);

    if (!st)
        st = boxes_check_sizes(inputs[ROI_ALIGN_SIZES], counts->shape.dims[0],
                               err);
    if (!st && (n_maps < 1 || n_maps > ROI_ALIGN_MAX_LEVELS ||
                maps[0].n_images != counts->shape.dims[0]))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "boxes of %lld images, maps of %lld in %zu levels",
                       (long long)counts->shape.dims[0],
                       (long long)maps[0].n_images, n_maps);
    return st;
}

/* All boxes, and memory for their plans and for the threads. */
struct roi_work {
    struct buffer *memory; /* holds all that follows; the caller releases it */
    struct roi *rois;
    char *plans, *scratch;
    size_t plan_bytes, scratch_bytes;
    int64_t n, n_blocks;
};

/* Boxes that are pooled one after the other from one block of channels, so that
 * what they share stays in the cache. */
enum { boxes_together = 256 };

static void pool_some(const struct roi_work *work, float *output, int64_t first,
                      int64_t block)
{
    const struct roi_map *map = work->rois[0].map;
    int64_t size = work->rois[0].size, end = first + boxes_together;
    float *scratch = (float *)(void *)(work->scratch + (size_t)op_thread() *
                                                           work->scratch_bytes);

    for (int64_t i = first; i < end && i < work->n; i++)
        roi_pool_block(&work->rois[i],
                       work->plans + (size_t)i * work->plan_bytes, block,
                       scratch, output + i * map->channels * size * size);
}

static void pool_fast(const struct roi_work *work, float *output, int n_threads)
{
    int64_t n_parts = (work->n + boxes_together - 1) / boxes_together;

#pragma omp parallel num_threads(n_threads)
    {
#pragma omp for
        for (int64_t i = 0; i < work->n; i++)
            roi_plan(&work->rois[i],
                     work->plans + (size_t)i * work->plan_bytes);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n_parts * work->n_blocks; i++)
            pool_some(work, output, i % n_parts * boxes_together, i / n_parts);
    }
}

static enum assay_status
roi_align_take_memory(const struct op_context *context,
                      const struct roi_align_attrs *attrs,
                      struct roi_work *work, struct error *err)
{
    size_t n = (size_t)work->n, n_threads = (size_t)op_threads(context);
    enum assay_status st;

    work->plan_bytes = roi_plan_bytes(attrs->size, attrs->sampling_ratio);
    work->scratch_bytes =
        roi_pool_scratch_bytes(attrs->size, attrs->sampling_ratio);
    st = pool_take_scratch(context->pool,
                           n * (work->plan_bytes + sizeof(struct roi)) +
                               n_threads * work->scratch_bytes,
                           "pooling boxes", &work->memory, err);
    if (st)
        return st;
    work->plans = buffer_data(work->memory);
    work->scratch = work->plans + n * work->plan_bytes;
    work->rois =
        (struct roi *)(void *)(work->scratch + n_threads * work->scratch_bytes);
    return ASSAY_OK;
}

/* Places each box on the map that it is pooled from. */
static void place_boxes(const struct roi_align_attrs *attrs,
                        const struct pyramid *pyramid,
                        const struct tensor *const *inputs, struct roi *rois)
{
    const struct box *box = tensor_boxes(inputs[ROI_ALIGN_BOXES]);
    const struct tensor *counts = inputs[ROI_ALIGN_COUNTS];

    for (int64_t image = 0; image < counts->shape.dims[0]; image++) {
        for (int64_t i = 0; i < tensor_i64(counts)[image]; i++)
            *rois++ = make_roi(pyramid, attrs, *box++, image);
    }
}

/* Places the boxes on the maps, which must outlive the work; makes no plans. */
static enum assay_status
roi_work_start(const struct op_context *context, const struct node *node,
               const struct tensor *const *inputs, const struct roi_map *maps,
               size_t n_maps, struct roi_work *work, struct error *err)
{
    const struct roi_align_attrs *attrs = node->attrs;
    struct pyramid pyramid;
    enum assay_status st = roi_align_check(inputs, maps, n_maps, err);

    *work = (struct roi_work){.n = inputs[ROI_ALIGN_BOXES]->shape.dims[0],
                              .n_blocks = (maps[0].channels + ROI_LANES - 1) /
                                          ROI_LANES};
    if (!st)
        st = roi_align_take_memory(context, attrs, work, err);
    if (st)
        return st;
    pyramid = make_pyramid(maps, n_maps, inputs[ROI_ALIGN_SIZES]);
    place_boxes(attrs, &pyramid, inputs, work->rois);
    return ASSAY_OK;
}

enum assay_status roi_align_maps(const struct op_context *context,
                                 const struct node *node,
                                 const struct tensor *const *inputs,
                                 const struct roi_map *maps, size_t n_maps,
                                 struct tensor *output, struct error *err)
{
    const struct roi_align_attrs *attrs = node->attrs;
    int64_t each = maps[0].channels * attrs->size * attrs->size;
    struct roi_work work;
    enum assay_status st =
        roi_work_start(context, node, inputs, maps, n_maps, &work, err);

    if (st)
        return st;
    if (!context->is_reference)
        pool_fast(&work, tensor_f32(output), op_threads(context));
    for (int64_t i = 0; context->is_reference && i < work.n; i++)
        pool_reference(&work.rois[i], tensor_f32(output) + i * each);
    buffer_release(work.memory);
    return ASSAY_OK;
}

/* Lists the maps among a node's inputs, with or without data; returns how many.
 */
static size_t roi_align_list_maps(const struct node *node,
                                  const struct tensor *const *inputs,
                                  struct roi_map *maps)
{
    size_t n_maps = node->n_inputs - ROI_ALIGN_MAPS;

    for (size_t i = 0; i < n_maps; i++) {
        const struct tensor *map = inputs[ROI_ALIGN_MAPS + i];

        maps[i] = (struct roi_map){.data = map->buffer ? tensor_f32(map) : NULL,
                                   .n_images = map->shape.dims[0],
                                   .channels = map->shape.dims[1],
                                   .height = map->shape.dims[2],
                                   .width = map->shape.dims[3]};
    }
    return n_maps;
}

static enum assay_status roi_align_forward(const struct op_context *context,
                                           const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    struct roi_map maps[ROI_ALIGN_MAX_LEVELS];
    size_t n_maps = roi_align_list_maps(node, inputs, maps);

    return roi_align_maps(context, node, inputs, maps, n_maps, &outputs[0],
                          err);
}

/* A point is a weighted sum of four values. Maps are read from memory at most
 * once, and only as much as the points need. */
static void roi_align_count_cost(const struct node *node,
                                 const struct tensor *const *inputs,
                                 const struct tensor *outputs,
                                 struct cost *cost)
{
    const struct roi_align_attrs *attrs = node->attrs;
    uint64_t samples =
        tensor_elements(&outputs[0]) *
        (uint64_t)(attrs->sampling_ratio * attrs->sampling_ratio);
    uint64_t left = samples * 4 * sizeof(float);

    cost->flops += samples * 8;
    for (size_t i = ROI_ALIGN_MAPS; i < node->n_inputs; i++) {
        cost_touches(cost, inputs[i], left);
        left -= left < tensor_bytes(inputs[i]) ? left : tensor_bytes(inputs[i]);
    }
}

/* ---- backward: boxes have no gradient, as in torchvision ----------------- */

/* Spreads all boxes of one image into one block of channels, which no other
 * thread writes. */
static void spread_image(const struct roi_work *work,
                         const struct roi_map *maps, int64_t image,
                         int64_t block, const float *dy, float *const *dx)
{
    float *scratch = (float *)(void *)(work->scratch + (size_t)op_thread() *
                                                           work->scratch_bytes);

    for (int64_t i = 0; i < work->n; i++) {
        const struct roi *roi = &work->rois[i];
        float *map = dx[roi->map - maps];
        int64_t each = roi->map->channels * roi->size * roi->size;

        if (roi->image == image && map)
            roi_spread_block(roi, work->plans + (size_t)i * work->plan_bytes,
                             block, scratch, dy + i * each, map);
    }
}

enum assay_status roi_align_maps_backward(
    const struct op_context *context, const struct node *node,
    const struct tensor *const *inputs, const struct roi_map *maps,
    size_t n_maps, const struct tensor *dy, float *const *dx, struct error *err)
{
    struct roi_work work;
    enum assay_status st =
        roi_work_start(context, node, inputs, maps, n_maps, &work, err);
    int64_t n_pieces = maps[0].n_images * work.n_blocks;

    if (st)
        return st;
#pragma omp parallel num_threads(op_threads(context))
    {
#pragma omp for
        for (int64_t i = 0; i < work.n; i++)
            roi_plan(&work.rois[i], work.plans + (size_t)i * work.plan_bytes);
#pragma omp for schedule(dynamic)
        for (int64_t i = 0; i < n_pieces; i++)
            spread_image(&work, maps, i / work.n_blocks, i % work.n_blocks,
                         tensor_f32(dy), dx);
    }
    buffer_release(work.memory);
    return ASSAY_OK;
}

static struct op_reads roi_align_backward_reads(const struct node *node,
                                                uint64_t wanted)
{
    (void)node, (void)wanted;
    return (struct op_reads){.inputs = 1 << ROI_ALIGN_BOXES |
                                       1 << ROI_ALIGN_COUNTS |
                                       1 << ROI_ALIGN_SIZES};
}

static enum assay_status roi_align_backward(const struct op_context *context,
                                            const struct node *node,
                                            const struct op_backward *pass,
                                            struct error *err)
{
    struct roi_map maps[ROI_ALIGN_MAX_LEVELS];
    size_t n_maps = roi_align_list_maps(node, pass->inputs, maps);
    float *dx[ROI_ALIGN_MAX_LEVELS] = {NULL};

    for (size_t i = 0; i < n_maps; i++) {
        if (op_wants(pass, ROI_ALIGN_MAPS + i))
            dx[i] = tensor_f32(&pass->dx[ROI_ALIGN_MAPS + i]);
    }
    return roi_align_maps_backward(context, node, pass->inputs, maps, n_maps,
                                   pass->dy[0], dx, err);
}

/* A point is added to four values. */
static void roi_align_backward_cost(const struct node *node,
                                    const struct op_backward *pass,
                                    struct cost *cost)
{
    const struct roi_align_attrs *attrs = node->attrs;

    cost->flops += 8 * tensor_elements(pass->dy[0]) *
                   (uint64_t)(attrs->sampling_ratio * attrs->sampling_ratio);
}

static void roi_align_channels(struct channels *channels,
                               const struct node *node)
{
    struct labels first =
        channels_of(channels, node->inputs[ROI_ALIGN_MAPS], CHANNEL_AXIS);

    for (size_t i = ROI_ALIGN_MAPS + 1; i < node->n_inputs; i++)
        channels_match(channels, node->inputs[i], CHANNEL_AXIS, first);
    channels_set(channels, node->outputs[0], CHANNEL_AXIS, first);
}

ATTR_FIELDS(roi_align,
            FIELD_NUMBER(roi_align_attrs, size, 1, ROI_ALIGN_MAX_SIZE),
            FIELD_NUMBER(roi_align_attrs, sampling_ratio, 1,
                         ROI_ALIGN_MAX_RATIO),
            FIELD_FLOAT(roi_align_attrs, canonical_size),
            FIELD_FLOAT(roi_align_attrs, canonical_level));

const struct op_class op_roi_align = {
    .name = "RoiAlign",
    OP_ATTRS(roi_align),
    OP_TAKES(ROI_ALIGN_MAPS + 1, ROI_ALIGN_MAPS + ROI_ALIGN_MAX_LEVELS),
    OP_MAKES(1, 1),
    .infer = roi_align_infer,
    .forward = roi_align_forward,
    .cost = roi_align_count_cost,
    .backward = roi_align_backward,
    .backward_reads = roi_align_backward_reads,
    .backward_cost = roi_align_backward_cost,
    .channels = roi_align_channels,
};
