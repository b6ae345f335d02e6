/* ops/detection/roi_crop.c - see roi_crop.h. */
#include "ops/detection/roi_crop.h"

#include "ops/detection/boxes.h"
#include "ops/detection/roi_pool_internal.h"
#include "ops/int_list_internal.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

enum roi_crop_input { CROP_X, CROP_BOXES, CROP_IMAGES };

static enum assay_status roi_crop_infer(const struct node *node,
                                        const struct tensor *const *inputs,
                                        struct tensor *outputs,
                                        struct error *err)
{
    const struct roi_crop_attrs *attrs = node->attrs;
    const struct shape *boxes = &inputs[CROP_BOXES]->shape;
    struct shape y;
    enum assay_status st = rule_rank(inputs, CROP_X, 4, err);

    if (!st)
        st = rule_dtype(inputs, CROP_X, DTYPE_F32, err);
    if (!st)
        st = boxes_check_list(inputs[CROP_BOXES], err);
    if (!st)
        st = indices_check(inputs, CROP_IMAGES, err);
    if (st)
        return st;
    if ((int64_t)tensor_elements(inputs[CROP_IMAGES]) != boxes->dims[0] ||
        attrs->height < 1 || attrs->width < 1 ||
        inputs[CROP_X]->shape.dims[2] < 1 || inputs[CROP_X]->shape.dims[3] < 1)
        return error_set(
            err, ASSAY_BAD_INPUT,
            "%zu image indices for %lld boxes, pooled to %lld x %lld",
            tensor_elements(inputs[CROP_IMAGES]), (long long)boxes->dims[0],
            (long long)attrs->height, (long long)attrs->width);
    if (attrs->sampling_ratio > ROI_MAX_POINTS)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "a sampling_ratio of %lld; at most %d is supported",
                         (long long)attrs->sampling_ratio, ROI_MAX_POINTS);
    y = shape_of(4, boxes->dims[0], inputs[CROP_X]->shape.dims[1],
                 attrs->height, attrs->width);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static struct roi_side roi_crop_make_side(const struct roi_crop_attrs *attrs,
                                          float first, float last, int64_t bins,
                                          int64_t size)
{
    float offset = attrs->is_half_pixel ? 0.5F : 0;
    float start = first * attrs->scale - offset;
    float length = last * attrs->scale - offset - start;

    if (!attrs->is_half_pixel && !(length > 1))
        length = 1;
    return roi_make_side(start, length, bins, attrs->sampling_ratio, size);
}

static float pool_bin(const struct roi_crop_attrs *attrs, const float *plane,
                      const struct roi_side *down,
                      const struct roi_side *across, int64_t row,
                      int64_t column)
{
    float sum = 0, best = -INFINITY;

    for (int64_t i = 0; i < down->points; i++) {
        struct tap y, x;
        bool is_inside = roi_point(down, row, i, &y);

        for (int64_t j = 0; j < across->points; j++) {
            const float *above = plane + y.low * across->size;
            const float *below = plane + y.high * across->size;
            float weighted[4] = {0};

            if (roi_point(across, column, j, &x) && is_inside) {
                weighted[0] = y.low_weight * x.low_weight * above[x.low];
                weighted[1] = y.low_weight * x.high_weight * above[x.high];
                weighted[2] = y.high_weight * x.low_weight * below[x.low];
                weighted[3] = y.high_weight * x.high_weight * below[x.high];
            }
            for (int k = 0; k < 4; k++) {
                sum += weighted[k];
                best = weighted[k] > best ? weighted[k] : best;
            }
        }
    }
    return attrs->is_max ? best : sum / (float)(down->points * across->points);
}

static void pool_box(const struct roi_crop_attrs *attrs, const struct tensor *x,
                     int64_t image, struct box box, float *y)
{
    const int64_t *dims = x->shape.dims;
    struct roi_side down =
        roi_crop_make_side(attrs, box.y1, box.y2, attrs->height, dims[2]);
    struct roi_side across =
        roi_crop_make_side(attrs, box.x1, box.x2, attrs->width, dims[3]);

    for (int64_t c = 0; c < dims[1]; c++) {
        const float *plane =
            tensor_f32(x) + (image * dims[1] + c) * dims[2] * dims[3];

        for (int64_t i = 0; i < attrs->height; i++) {
            for (int64_t j = 0; j < attrs->width; j++)
                *y++ = pool_bin(attrs, plane, &down, &across, i, j);
        }
    }
}

/* ---- the common case, square means: RoiAlign's kernel -------------------- */

static bool is_common(const struct roi_crop_attrs *attrs)
{
    return !attrs->is_max && attrs->height == attrs->width &&
           attrs->height <= ROI_ALIGN_MAX_SIZE && attrs->sampling_ratio >= 1 &&
           attrs->sampling_ratio <= ROI_ALIGN_MAX_RATIO;
}

/* memory: a plan, then the scratch memory of the kernel. */
static void pool_common(const struct roi_crop_attrs *attrs,
                        const struct roi_map *map, int64_t image,
                        struct box box, char *memory, size_t plan_bytes,
                        float *y)
{
    struct roi roi = {.map = map,
                      .image = image,
                      .size = attrs->height,
                      .down = roi_crop_make_side(attrs, box.y1, box.y2,
                                                 attrs->height, map->height),
                      .across = roi_crop_make_side(attrs, box.x1, box.x2,
                                                   attrs->width, map->width)};

    roi_plan(&roi, memory);
    for (int64_t c = 0; c * ROI_LANES < map->channels; c++)
        roi_pool_block(&roi, memory, c, (float *)(void *)(memory + plan_bytes),
                       y);
}

static enum assay_status run_common(const struct op_context *context,
                                    const struct roi_crop_attrs *attrs,
                                    const struct tensor *const *inputs,
                                    const struct tensor *y, struct error *err)
{
    const int64_t *dims = inputs[CROP_X]->shape.dims;
    struct roi_map map = {.data = tensor_f32(inputs[CROP_X]),
                          .n_images = dims[0],
                          .channels = dims[1],
                          .height = dims[2],
                          .width = dims[3]};
    size_t plan_bytes = roi_plan_bytes(attrs->height, attrs->sampling_ratio);
    size_t bytes = plan_bytes +
                   roi_pool_scratch_bytes(attrs->height, attrs->sampling_ratio);
    int64_t each = shape_span(&y->shape, 1, 4);
    struct buffer *memory;
    enum assay_status st =
        pool_take(context->pool, bytes * (size_t)op_threads(context),
                  "boxes of a map", &memory, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(op_threads(context)) schedule(dynamic)
    for (int64_t i = 0; i < y->shape.dims[0]; i++)
        pool_common(attrs, &map, int_at(inputs[CROP_IMAGES], (size_t)i),
                    tensor_boxes(inputs[CROP_BOXES])[i],
                    (char *)buffer_data(memory) + bytes * (size_t)op_thread(),
                    plan_bytes, tensor_f32(y) + i * each);
    buffer_release(memory);
    return ASSAY_OK;
}

static enum assay_status roi_crop_forward(const struct op_context *context,
                                          const struct node *node,
                                          const struct tensor *const *inputs,
                                          struct tensor *outputs,
                                          struct error *err)
{
    const struct tensor *x = inputs[CROP_X];
    int64_t n = outputs[0].shape.dims[0];
    int64_t each = shape_span(&outputs[0].shape, 1, 4);

    for (int64_t i = 0; i < n; i++) {
        int64_t image = int_at(inputs[CROP_IMAGES], (size_t)i);

        if (image < 0 || image >= x->shape.dims[0])
            return error_set(err, ASSAY_BAD_INPUT,
                             "a box in image %lld of %lld", (long long)image,
                             (long long)x->shape.dims[0]);
    }
    if (is_common(node->attrs) && !context->is_reference)
        return run_common(context, node->attrs, inputs, &outputs[0], err);
#pragma omp parallel for num_threads(op_threads(context)) schedule(dynamic)
    for (int64_t i = 0; i < n; i++)
        pool_box(node->attrs, x, int_at(inputs[CROP_IMAGES], (size_t)i),
                 tensor_boxes(inputs[CROP_BOXES])[i],
                 tensor_f32(&outputs[0]) + i * each);
    return ASSAY_OK;
}

const struct op_class op_roi_crop = {
    .name = "RoiCrop",
    .attrs_bytes = sizeof(struct roi_crop_attrs),
    OP_TAKES(3, 3),
    OP_MAKES(1, 1),
    .infer = roi_crop_infer,
    .forward = roi_crop_forward,
};
