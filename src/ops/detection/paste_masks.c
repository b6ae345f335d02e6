/* ops/detection/paste_masks.c - PasteMasks, see mask_ops.h. */
#include "base/variants.h"
#include "ops/attr_fields.h"
#include "ops/detection/bilinear_internal.h"
#include "ops/detection/boxes.h"
#include "ops/detection/mask_ops.h"
#include "ops/op_threads.h"
#include "ops/ops.h"
#include "ops/shape_rules.h"

#include <assert.h>
#include <string.h>

enum { MASKS, BOXES, COUNTS, ORIGINAL, INPUTS };

/* Zeros around a mask, so that its edge fades out. */
enum { padding = 1 };

const struct paste_masks_attrs *paste_masks_attrs(const struct node *node)
{
    assert(node->op == &op_paste_masks);
    return node->attrs;
}

/* A mask and where its padded frame lies in the photograph. */
struct placed {
    const float *mask;
    int64_t side;   /* of the mask */
    int64_t framed; /* with the padding */
    int64_t height, width;
    int64_t left, top, box_width, box_height;
    int64_t x_start, x_end, y_start, y_end; /* of that, inside */
};

/* Whole pixels, cut towards zero; far outside is as good as anything there. */
static int64_t whole(float value)
{
    const float far = 1e9F;

    if (!(value > -far))
        return -(int64_t)far;
    return (int64_t)(value < far ? value : far);
}

static int64_t at_least(int64_t value, int64_t low)
{
    return value < low ? low : value;
}

static int64_t paste_masks_at_most(int64_t value, int64_t high)
{
    return value > high ? high : value;
}

static struct placed place(const float *mask, int64_t side, struct box box,
                           int64_t height, int64_t width)
{
    float scale = (float)((double)(side + 2 * padding) / (double)side);
    float half_width = (box.x2 - box.x1) * 0.5F * scale;
    float half_height = (box.y2 - box.y1) * 0.5F * scale;
    float x = (box.x2 + box.x1) * 0.5F, y = (box.y2 + box.y1) * 0.5F;
    int64_t right = whole(x + half_width), bottom = whole(y + half_height);
    struct placed placed = {.mask = mask,
                            .side = side,
                            .framed = side + 2 * padding,
                            .height = height,
                            .width = width,
                            .left = whole(x - half_width),
                            .top = whole(y - half_height)};

    placed.box_width = right - placed.left + 1;
    placed.box_height = bottom - placed.top + 1;
    placed.x_start = paste_masks_at_most(at_least(placed.left, 0), width);
    placed.y_start = paste_masks_at_most(at_least(placed.top, 0), height);
    placed.x_end =
        at_least(paste_masks_at_most(right + 1, width), placed.x_start);
    placed.y_end =
        at_least(paste_masks_at_most(bottom + 1, height), placed.y_start);
    return placed;
}

/* A value of the framed mask. */
static float mask_at(const struct placed *placed, int64_t y, int64_t x)
{
    y -= padding;
    x -= padding;
    if (y < 0 || x < 0 || y >= placed->side || x >= placed->side)
        return 0;
    return placed->mask[y * placed->side + x];
}

static struct tap tap_across(const struct placed *placed, int64_t x)
{
    return bilinear_tap(x - placed->left, placed->framed, placed->box_width);
}

static struct tap tap_down(const struct placed *placed, int64_t y)
{
    return bilinear_tap(y - placed->top, placed->framed, placed->box_height);
}

static float row_value(const struct placed *placed, int64_t y,
                       const struct tap *tap)
{
    return mask_at(placed, y, tap->low) * tap->low_weight +
           mask_at(placed, y, tap->high) * tap->high_weight;
}

/* The two kinds of output: probabilities, or what is above one half. */
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
                struct tap down = tap_down(placed, y);
                struct tap across = tap_across(placed, x);

                value =
                    row_value(placed, down.low, &across) * down.low_weight +
                    row_value(placed, down.high, &across) * down.high_weight;
            }
            paste_masks_put(is_soft, to, y * placed->width + x, value);
        }
    }
}

/* Every row of the framed mask, stretched to the columns that are inside. */
static void stretch_rows(const struct placed *placed, float *rows)
{
    int64_t n = placed->x_end - placed->x_start;

    for (int64_t i = 0; i < n; i++) {
        struct tap across = tap_across(placed, placed->x_start + i);

        for (int64_t y = 0; y < placed->framed; y++)
            rows[y * n + i] = row_value(placed, y, &across);
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
    stretch_rows(placed, rows);
    for (int64_t y = placed->y_start; y < placed->y_end; y++) {
        int64_t at = y * placed->width + placed->x_start;
        struct tap down = tap_down(placed, y);
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
            place(tensor_f32(masks) + (first + i) * side * side, side,
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
    const struct shape *masks = &inputs[MASKS]->shape;
    enum assay_status st = rule_rank(inputs, MASKS, 4, err);
    char text[64];

    if (!st)
        st = boxes_check_list(inputs[BOXES], err);
    if (!st && (masks->dims[1] != 1 || masks->dims[2] < 1 ||
                masks->dims[2] != masks->dims[3] ||
                masks->dims[0] != inputs[BOXES]->shape.dims[0]))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "masks of %s for %lld boxes; one square each is wanted",
                       shape_text(masks, text, sizeof text),
                       (long long)inputs[BOXES]->shape.dims[0]);
    if (!st)
        st = boxes_check_counts(inputs[COUNTS], masks->dims[0], err);
    if (!st)
        st = boxes_check_sizes(inputs[ORIGINAL], (int64_t)node->n_outputs, err);
    if (!st && tensor_elements(inputs[COUNTS]) != node->n_outputs)
        st = error_set(err, ASSAY_BAD_INPUT, "%zu counts for %zu images",
                       tensor_elements(inputs[COUNTS]), node->n_outputs);
    return st;
}

static enum assay_status paste_masks_forward(const struct op_context *context,
                                             const struct node *node,
                                             const struct tensor *const *inputs,
                                             struct tensor *outputs,
                                             struct error *err)
{
    bool is_soft = paste_masks_attrs(node)->is_soft;
    enum assay_status st = paste_masks_check(node, inputs, err);
    int64_t first = 0;

    for (size_t i = 0; !st && i < node->n_outputs; i++) {
        const int64_t *size = tensor_i64(inputs[ORIGINAL]) + 2 * i;
        int64_t count = tensor_i64(inputs[COUNTS])[i];
        struct shape shape = shape_of(4, count, (int64_t)1, size[0], size[1]);

        st = tensor_new(context->pool, is_soft ? DTYPE_F32 : DTYPE_U8, &shape,
                        &outputs[i], err);
        if (!st)
            st =
                paste_image(context, inputs[MASKS], tensor_boxes(inputs[BOXES]),
                            first, is_soft, &outputs[i], err);
        first += count;
    }
    return st;
}

ATTR_FIELDS(paste_masks, FIELD_FLAG(paste_masks_attrs, is_soft));

const struct op_class op_paste_masks = {
    .name = "PasteMasks",
    .attrs_bytes = sizeof(struct paste_masks_attrs),
    .fields = paste_masks_fields,
    .min_inputs = INPUTS,
    .max_inputs = INPUTS,
    .min_outputs = 1,
    .max_outputs = SIZE_MAX,
    .forward = paste_masks_forward,
};
