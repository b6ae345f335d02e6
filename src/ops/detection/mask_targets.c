/* ops/detection/mask_targets.c - see mask_targets.h.
 *
 * Masks are not resized: points are looked up in the original mask. */
#include "ops/detection/mask_targets.h"

#include "ops/detection/boxes.h"
#include "ops/detection/roi_pool_internal.h"
#include "ops/movement/resize_nearest.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>

enum { max_size = 64 };

static enum assay_status mask_targets_infer(const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    const struct mask_targets_attrs *attrs = node->attrs;
    int64_t size = attrs->size;
    enum assay_status st = boxes_check_list(inputs[MASK_TARGETS_BOXES], err);
    struct shape y;

    if (!st && (size < 1 || size > max_size))
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "masks of %lld points per side; 1 to %d are supported",
                       (long long)size, max_size);
    for (size_t i = MASK_TARGETS_MASKS; !st && i < node->n_inputs; i++) {
        st = rule_rank(inputs, i, 3, err);
        if (!st)
            st = rule_dtype(inputs, i, DTYPE_U8, err);
    }
    if (st)
        return st;
    y = shape_of(3, inputs[MASK_TARGETS_BOXES]->shape.dims[0], size, size);
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status mask_targets_check(const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct error *err)
{
    const struct tensor *objects = inputs[MASK_TARGETS_OBJECTS];
    int64_t n = inputs[MASK_TARGETS_BOXES]->shape.dims[0];
    int64_t n_images = (int64_t)node->n_inputs - MASK_TARGETS_MASKS;
    enum assay_status st =
        boxes_check_counts(inputs[MASK_TARGETS_COUNTS], n, err);

    if (!st)
        st = boxes_check_sizes(inputs[MASK_TARGETS_SIZES], n_images, err);
    if (!st)
        st = rule_dtype(inputs, MASK_TARGETS_OBJECTS, DTYPE_I64, err);
    if (!st && ((int64_t)tensor_elements(objects) != n ||
                inputs[MASK_TARGETS_COUNTS]->shape.dims[0] != n_images))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%zu objects for %lld boxes, and masks of %lld images "
                       "for boxes of %lld",
                       tensor_elements(objects), (long long)n,
                       (long long)n_images,
                       (long long)inputs[MASK_TARGETS_COUNTS]->shape.dims[0]);
    return st;
}

/* One side of a box on the resized mask. */
struct side {
    struct roi_side roi;
    int64_t original; /* size of the original mask */
};

static struct side mask_targets_make_side(float first, float last, int64_t bins,
                                          int64_t size, int64_t original)
{
    float length = last - first > 1 ? last - first : 1;

    return (struct side){roi_make_side(first, length, bins, 0, size), original};
}

/* Where point i of a bin reads the original mask, and with which weights; all 0
 * outside. */
static struct tap mask_targets_point_at(const struct side *side, int64_t bin,
                                        int64_t i)
{
    struct tap tap;

    if (roi_point(&side->roi, bin, i, &tap)) {
        tap.low =
            resize_nearest_source(tap.low, side->original, side->roi.size);
        tap.high =
            resize_nearest_source(tap.high, side->original, side->roi.size);
    }
    return tap;
}

/* A box, its mask and its place in the output. */
struct work {
    const uint8_t *mask;
    struct side down, across;
    float *to;
    int64_t bins;
    const struct tap *taps; /* of the points across, by bin */
    /* The last even and the last odd row of the mask, summed into bins. */
    int64_t held[2];
    float rows[2][max_size];
};

static const float *mask_targets_find_row(struct work *work, int64_t y)
{
    const uint8_t *from = work->mask + y * work->across.original;
    const struct tap *tap = work->taps;
    float *to = work->rows[y & 1];

    if (work->held[y & 1] == y)
        return to;
    work->held[y & 1] = y;
    for (int64_t bin = 0; bin < work->bins; bin++) {
        to[bin] = 0;
        for (int64_t i = 0; i < work->across.roi.points; i++, tap++)
            to[bin] += tap->low_weight * from[tap->low] +
                       tap->high_weight * from[tap->high];
    }
    return to;
}

static void mask_targets_project(struct work *work)
{
    float by = (float)(work->down.roi.points * work->across.roi.points);

    work->held[0] = work->held[1] = -1;
    for (int64_t row = 0; row < work->bins; row++, work->to += work->bins) {
        for (int64_t k = 0; k < work->bins; k++)
            work->to[k] = 0;
        for (int64_t i = 0; i < work->down.roi.points; i++) {
            struct tap tap = mask_targets_point_at(&work->down, row, i);
            const float *low = mask_targets_find_row(work, tap.low);

            for (int64_t k = 0; k < work->bins; k++)
                work->to[k] += tap.low_weight * low[k];
            if (tap.high_weight <= 0)
                continue;

            const float *high = mask_targets_find_row(work, tap.high);

            for (int64_t k = 0; k < work->bins; k++)
                work->to[k] += tap.high_weight * high[k];
        }
        for (int64_t k = 0; k < work->bins; k++)
            work->to[k] /= by;
    }
}

/* Sets all but the taps for box i. */
static enum assay_status mask_targets_start_work(
    const struct node *node, const struct tensor *const *inputs, int64_t i,
    const struct tensor *output, struct work *work, struct error *err)
{
    const int64_t *counts = tensor_i64(inputs[MASK_TARGETS_COUNTS]);
    int64_t object = tensor_i64(inputs[MASK_TARGETS_OBJECTS])[i], row = i;
    struct box box = tensor_boxes(inputs[MASK_TARGETS_BOXES])[i];
    int64_t bins = ((const struct mask_targets_attrs *)node->attrs)->size;
    int64_t named = object, image = 0;
    const struct tensor *masks = inputs[MASK_TARGETS_MASKS];
    const int64_t *dims = masks->shape.dims, *size;

    for (; row >= counts[image]; image++) {
        row -= counts[image];
        object -= dims[0];
        masks = inputs[MASK_TARGETS_MASKS + image + 1];
        dims = masks->shape.dims;
    }
    size = tensor_i64(inputs[MASK_TARGETS_SIZES]) + 2 * image;
    if (object < 0 || object >= dims[0] || dims[1] < 1 || dims[2] < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "image %lld has %lld masks; object %lld is not one "
                         "of them",
                         (long long)image, (long long)dims[0],
                         (long long)named);
    *work = (struct work){
        .mask =
            (const uint8_t *)tensor_data(masks) + object * dims[1] * dims[2],
        .down = mask_targets_make_side(box.y1, box.y2, bins, size[0], dims[1]),
        .across =
            mask_targets_make_side(box.x1, box.x2, bins, size[1], dims[2]),
        .to = tensor_f32(output) + i * bins * bins,
        .bins = bins,
    };
    return ASSAY_OK;
}

/* Checks all boxes before any is projected; *most: points per bin. */
static enum assay_status mask_targets_check_boxes(
    const struct node *node, const struct tensor *const *inputs,
    const struct tensor *output, int64_t *most, struct error *err)
{
    enum assay_status st = ASSAY_OK;

    *most = 1;
    for (int64_t i = 0; !st && i < output->shape.dims[0]; i++) {
        struct work work;

        st = mask_targets_start_work(node, inputs, i, output, &work, err);
        if (!st && work.across.roi.points > *most)
            *most = work.across.roi.points;
    }
    return st;
}

static void mask_targets_project_box(const struct node *node,
                                     const struct tensor *const *inputs,
                                     int64_t i, const struct tensor *output,
                                     struct tap *taps)
{
    struct work work;

    if (mask_targets_start_work(node, inputs, i, output, &work, NULL))
        return; /* mask_targets_check_boxes() would have refused it */
    work.taps = taps;
    for (int64_t bin = 0; bin < work.bins; bin++) {
        for (int64_t k = 0; k < work.across.roi.points; k++)
            *taps++ = mask_targets_point_at(&work.across, bin, k);
    }
    mask_targets_project(&work);
}

static enum assay_status
mask_targets_forward(const struct op_context *context, const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    const struct mask_targets_attrs *attrs = node->attrs;
    size_t n_threads = (size_t)op_threads(context), each;
    enum assay_status st = mask_targets_check(node, inputs, err);
    struct buffer *memory = NULL;
    struct tap *taps;
    int64_t most = 0;

    if (!st)
        st = mask_targets_check_boxes(node, inputs, &outputs[0], &most, err);
    each = (size_t)(attrs->size * most);
    if (!st)
        st = pool_take_scratch(context->pool, n_threads * each * sizeof *taps,
                               "projecting masks", &memory, err);
    if (st)
        return st;
    taps = buffer_data(memory);
#pragma omp parallel for num_threads(op_threads(context)) schedule(dynamic)
    for (int64_t i = 0; i < outputs[0].shape.dims[0]; i++)
        mask_targets_project_box(node, inputs, i, &outputs[0],
                                 taps + (size_t)op_thread() * each);
    buffer_release(memory);
    return ASSAY_OK;
}

/* Masks are read inside boxes only: about once in total. */
static void mask_targets_count_cost(const struct node *node,
                                    const struct tensor *const *inputs,
                                    const struct tensor *outputs,
                                    struct cost *cost)
{
    (void)node, (void)inputs;
    cost->flops += tensor_elements(&outputs[0]) * 8;
}

const struct op_class op_mask_targets = {
    .name = "MaskTargets",
    .attrs_bytes = sizeof(struct mask_targets_attrs),
    OP_TAKES(MASK_TARGETS_MASKS + 1, 64),
    OP_MAKES(1, 1),
    .infer = mask_targets_infer,
    .forward = mask_targets_forward,
    .cost = mask_targets_count_cost,
};
