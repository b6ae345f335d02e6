/* ops/detection/mask_ops.c - MaskSelect, ResizeBoxes and PasteMasks, see
 * mask_ops.h. */
#include "ops/detection/mask_ops.h"

#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/detection/bilinear_internal.h"
#include "ops/detection/boxes.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <math.h>
#include <string.h>

/* ---- MaskSelect ---------------------------------------------------------- */

enum { SELECT_LOGITS, SELECT_LABELS, SELECT_INPUTS };

static enum assay_status mask_select_infer(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct tensor *outputs,
                                           struct error *err)
{
    enum assay_status st = rule_rank(inputs, SELECT_LOGITS, 4, err);
    struct shape y = inputs[SELECT_LOGITS]->shape;

    (void)node;
    if (!st)
        st = rule_rank(inputs, SELECT_LABELS, 1, err);
    if (!st)
        st = rule_dtype(inputs, SELECT_LABELS, DTYPE_I64, err);
    if (!st && inputs[SELECT_LABELS]->shape.dims[0] != y.dims[0])
        st = error_set(err, ASSAY_BAD_INPUT, "%lld labels for %lld masks",
                       (long long)inputs[SELECT_LABELS]->shape.dims[0],
                       (long long)y.dims[0]);
    if (st)
        return st;
    y.dims[1] = 1;
    rule_set(&outputs[0], DTYPE_F32, &y);
    return ASSAY_OK;
}

static enum assay_status mask_select_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    const int64_t *dims = inputs[SELECT_LOGITS]->shape.dims;
    const int64_t *labels = tensor_i64(inputs[SELECT_LABELS]);
    int64_t plane = dims[2] * dims[3];

    (void)node;
    for (int64_t i = 0; i < dims[0]; i++) {
        if (labels[i] < 0 || labels[i] >= dims[1])
            return error_set(err, ASSAY_BAD_INPUT,
                             "label %lld is not one of %lld classes",
                             (long long)labels[i], (long long)dims[1]);
    }
#pragma omp parallel for num_threads(op_threads(context))
    for (int64_t i = 0; i < dims[0]; i++) {
        const float *from = tensor_f32(inputs[SELECT_LOGITS]) +
                            (i * dims[1] + labels[i]) * plane;
        float *to = tensor_f32(&outputs[0]) + i * plane;

        for (int64_t k = 0; k < plane; k++)
            to[k] = 1 / (1 + expf(-from[k]));
    }
    return ASSAY_OK;
}

const struct op_class op_mask_select = {
    .name = "MaskSelect",
    OP_TAKES(SELECT_INPUTS, SELECT_INPUTS),
    OP_MAKES(1, 1),
    .infer = mask_select_infer,
    .forward = mask_select_forward,
    .cost = rule_cost_taken,
};

/* ---- ResizeBoxes --------------------------------------------------------- */

enum {
    RESIZE_BOXES,
    RESIZE_COUNTS,
    RESIZE_SIZES,
    RESIZE_ORIGINAL,
    RESIZE_INPUTS
};

static enum assay_status resize_boxes_infer(const struct node *node,
                                            const struct tensor *const *inputs,
                                            struct tensor *outputs,
                                            struct error *err)
{
    (void)node;
    rule_set(&outputs[0], DTYPE_F32, &inputs[RESIZE_BOXES]->shape);
    return boxes_check_list(inputs[RESIZE_BOXES], err);
}

static enum assay_status
resize_boxes_forward(const struct op_context *context, const struct node *node,
                     const struct tensor *const *inputs, struct tensor *outputs,
                     struct error *err)
{
    (void)context, (void)node;
    return boxes_rescale(inputs[RESIZE_BOXES], inputs[RESIZE_COUNTS],
                         inputs[RESIZE_SIZES], inputs[RESIZE_ORIGINAL],
                         &outputs[0], err);
}

const struct op_class op_resize_boxes = {
    .name = "ResizeBoxes",
    OP_TAKES(RESIZE_INPUTS, RESIZE_INPUTS),
    OP_MAKES(1, 1),
    .infer = resize_boxes_infer,
    .forward = resize_boxes_forward,
};

/* ---- PasteMasks ---------------------------------------------------------- */

enum { PASTE_MASKS, PASTE_BOXES, PASTE_COUNTS, PASTE_ORIGINAL, PASTE_INPUTS };

/* Zeros around a mask, so that its edge fades out. */
enum { padding = 1 };

/* A mask, and its padded frame in the photograph. */
struct placed {
    const float *mask;
    int64_t side;   /* of the mask */
    int64_t framed; /* with the padding */
    int64_t height, width;
    int64_t left, top, box_width, box_height;
    int64_t x_start, x_end, y_start, y_end; /* the part inside */
};

/* Truncates to whole pixels, limited to a range far outside any image. */
static int64_t paste_whole(float value)
{
    const float far = 1e9F;

    if (!(value > -far))
        return -(int64_t)far;
    return (int64_t)(value < far ? value : far);
}

static int64_t paste_at_least(int64_t value, int64_t low)
{
    return value < low ? low : value;
}

static int64_t paste_at_most(int64_t value, int64_t high)
{
    return value > high ? high : value;
}

static struct placed paste_place(const float *mask, int64_t side,
                                 struct box box, int64_t height, int64_t width)
{
    float scale = (float)((double)(side + 2 * padding) / (double)side);
    float half_width = (box.x2 - box.x1) * 0.5F * scale;
    float half_height = (box.y2 - box.y1) * 0.5F * scale;
    float x = (box.x2 + box.x1) * 0.5F, y = (box.y2 + box.y1) * 0.5F;
    int64_t right = paste_whole(x + half_width),
            bottom = paste_whole(y + half_height);
    struct placed placed = {.mask = mask,
                            .side = side,
                            .framed = side + 2 * padding,
                            .height = height,
                            .width = width,
                            .left = paste_whole(x - half_width),
                            .top = paste_whole(y - half_height)};

    placed.box_width = right - placed.left + 1;
    placed.box_height = bottom - placed.top + 1;
    placed.x_start = paste_at_most(paste_at_least(placed.left, 0), width);
    placed.y_start = paste_at_most(paste_at_least(placed.top, 0), height);
    placed.x_end =
        paste_at_least(paste_at_most(right + 1, width), placed.x_start);
    placed.y_end =
        paste_at_least(paste_at_most(bottom + 1, height), placed.y_start);
    return placed;
}

/* A value of the framed mask. */
static float paste_mask_at(const struct placed *placed, int64_t y, int64_t x)
{
    y -= padding;
    x -= padding;
    if (y < 0 || x < 0 || y >= placed->side || x >= placed->side)
        return 0;
    return placed->mask[y * placed->side + x];
}

static struct tap paste_tap_across(const struct placed *placed, int64_t x)
{
    return bilinear_tap(x - placed->left, placed->framed, placed->box_width);
}

static struct tap paste_tap_down(const struct placed *placed, int64_t y)
{
    return bilinear_tap(y - placed->top, placed->framed, placed->box_height);
}

static float paste_row_value(const struct placed *placed, int64_t y,
                             const struct tap *tap)
{
    return paste_mask_at(placed, y, tap->low) * tap->low_weight +
           paste_mask_at(placed, y, tap->high) * tap->high_weight;
}

/* Writes a probability, or whether it is above one half. */
static void paste_masks_put(bool is_soft, void *to, int64_t at, float value)
{
    if (is_soft)
        ((float *)to)[at] = value;
    else
        ((uint8_t *)to)[at] = value > 0.5F;
}

static void paste_reference(const struct placed *placed, bool is_soft, void *to)
{
    for (int64_t y = 0; y < placed->height; y++) {
        for (int64_t x = 0; x < placed->width; x++) {
            float value = 0;

            if (y >= placed->y_start && y < placed->y_end &&
                x >= placed->x_start && x < placed->x_end) {
                struct tap down = paste_tap_down(placed, y);
                struct tap across = paste_tap_across(placed, x);

                value = paste_row_value(placed, down.low, &across) *
                            down.low_weight +
                        paste_row_value(placed, down.high, &across) *
                            down.high_weight;
            }
            paste_masks_put(is_soft, to, y * placed->width + x, value);
        }
    }
}

/* Stretches every row of the framed mask to the columns inside. */
static void paste_stretch_rows(const struct placed *placed, float *rows)
{
    int64_t n = placed->x_end - placed->x_start;

    for (int64_t i = 0; i < n; i++) {
        struct tap across = paste_tap_across(placed, placed->x_start + i);

        for (int64_t y = 0; y < placed->framed; y++)
            rows[y * n + i] = paste_row_value(placed, y, &across);
    }
}

VARIANTS(void, blend_soft,
         (const float *restrict low, const float *restrict high,
          const struct tap *tap, float *restrict to, int64_t n),
         (low, high, tap, to, n))
{
    for (int64_t i = 0; i < n; i++)
        to[i] = low[i] * tap->low_weight + high[i] * tap->high_weight;
}

VARIANTS(void, blend_hard,
         (const float *restrict low, const float *restrict high,
          const struct tap *tap, uint8_t *restrict to, int64_t n),
         (low, high, tap, to, n))
{
    for (int64_t i = 0; i < n; i++)
        to[i] = low[i] * tap->low_weight + high[i] * tap->high_weight > 0.5F;
}

static void paste_fast(const struct placed *placed, bool is_soft, float *rows,
                       void *to)
{
    size_t each = is_soft ? sizeof(float) : sizeof(uint8_t);
    int64_t n = placed->x_end - placed->x_start;

    memset(to, 0, (size_t)(placed->height * placed->width) * each);
    paste_stretch_rows(placed, rows);
    for (int64_t y = placed->y_start; y < placed->y_end; y++) {
        int64_t at = y * placed->width + placed->x_start;
        struct tap down = paste_tap_down(placed, y);
        const float *low = rows + down.low * n, *high = rows + down.high * n;

        if (is_soft)
            blend_soft(low, high, &down, (float *)to + at, n);
        else
            blend_hard(low, high, &down, (uint8_t *)to + at, n);
    }
}

/* The masks of one image. */
static enum assay_status paste_image(const struct op_context *context,
                                     const struct tensor *masks,
                                     const struct box *boxes, int64_t first,
                                     bool is_soft, const struct tensor *output,
                                     struct error *err)
{
    const int64_t *dims = output->shape.dims;
    int64_t side = masks->shape.dims[2];
    size_t row_values = (size_t)((side + 2 * padding) * dims[3]);
    size_t plane = (size_t)(dims[2] * dims[3]) * dtype_bytes(output->dtype);
    int n_threads = op_threads(context);
    struct buffer *memory;
    enum assay_status st = pool_take_scratch(
        context->pool, (size_t)n_threads * row_values * sizeof(float),
        "pasting masks", &memory, err);

    if (st)
        return st;
#pragma omp parallel for num_threads(n_threads) schedule(dynamic)
    for (int64_t i = 0; i < dims[0]; i++) {
        struct placed placed =
            paste_place(tensor_f32(masks) + (first + i) * side * side, side,
                        boxes[first + i], dims[2], dims[3]);
        float *rows =
            (float *)buffer_data(memory) + (size_t)op_thread() * row_values;
        char *to = (char *)tensor_data(output) + (size_t)i * plane;

        if (context->is_reference)
            paste_reference(&placed, is_soft, to);
        else
            paste_fast(&placed, is_soft, rows, to);
    }
    buffer_release(memory);
    return ASSAY_OK;
}

static enum assay_status paste_masks_check(const struct node *node,
                                           const struct tensor *const *inputs,
                                           struct error *err)
{
    const struct shape *masks = &inputs[PASTE_MASKS]->shape;
    enum assay_status st = rule_rank(inputs, PASTE_MASKS, 4, err);
    char text[64];

    if (!st)
        st = boxes_check_list(inputs[PASTE_BOXES], err);
    if (!st && (masks->dims[1] != 1 || masks->dims[2] < 1 ||
                masks->dims[2] != masks->dims[3] ||
                masks->dims[0] != inputs[PASTE_BOXES]->shape.dims[0]))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "masks of %s for %lld boxes; expected one square each",
                       shape_text(masks, text, sizeof text),
                       (long long)inputs[PASTE_BOXES]->shape.dims[0]);
    if (!st)
        st = boxes_check_counts(inputs[PASTE_COUNTS], masks->dims[0], err);
    if (!st)
        st = boxes_check_sizes(inputs[PASTE_ORIGINAL], (int64_t)node->n_outputs,
                               err);
    if (!st && tensor_elements(inputs[PASTE_COUNTS]) != node->n_outputs)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu counts for %zu images",
                       tensor_elements(inputs[PASTE_COUNTS]), node->n_outputs);
    return st;
}

static enum assay_status paste_masks_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    bool is_soft = ((const struct paste_masks_attrs *)node->attrs)->is_soft;
    enum assay_status st = paste_masks_check(node, inputs, err);
    int64_t first = 0;

    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        const int64_t *size = tensor_i64(inputs[PASTE_ORIGINAL]) + 2 * i;
        int64_t count = tensor_i64(inputs[PASTE_COUNTS])[i];
        struct shape shape = shape_of(4, count, (int64_t)1, size[0], size[1]);

        st = tensor_new(context->pool, is_soft ? DTYPE_F32 : DTYPE_U8, &shape,
                        &outputs[i], err);
        if (!st)
            st = paste_image(context, inputs[PASTE_MASKS],
                             tensor_boxes(inputs[PASTE_BOXES]), first, is_soft,
                             &outputs[i], err);
        first += count;
    }
    return st;
}

ATTR_FIELDS(paste_masks, FIELD_FLAG(paste_masks_attrs, is_soft));

const struct op_class op_paste_masks = {
    .name = "PasteMasks",
    OP_ATTRS(paste_masks),
    OP_TAKES(PASTE_INPUTS, PASTE_INPUTS),
    OP_MAKES(1, SIZE_MAX),
    .forward = paste_masks_forward,
};
