/* ops/detection/boxes.c - see boxes.h. */
#include "ops/detection/boxes.h"

#include <assert.h>
#include <math.h>

/* A side grows by a factor of at most 1000 / 16 = 62.5: log(62.5). */
static const float max_log_growth = 4.135166556742356F;

struct box *tensor_boxes(const struct tensor *tensor)
{
    assert(tensor->shape.dims[tensor->shape.rank - 1] == 4);
    return (struct box *)(void *)tensor_f32(tensor);
}

/* Keeps NaNs: whoever filters boxes drops them. */
static float boxes_between(float value, float low, float high)
{
    if (value < low)
        return low;
    return value > high ? high : value;
}

struct box box_decode(struct box from, const float deltas[4],
                      const float weights[4])
{
    float width = from.x2 - from.x1, height = from.y2 - from.y1;
    float x = from.x1 + 0.5F * width, y = from.y1 + 0.5F * height;
    float dw = boxes_between(deltas[2] / weights[2], -INFINITY, max_log_growth);
    float dh = boxes_between(deltas[3] / weights[3], -INFINITY, max_log_growth);
    float to_x = deltas[0] / weights[0] * width + x;
    float to_y = deltas[1] / weights[1] * height + y;
    float half_width = 0.5F * (expf(dw) * width);
    float half_height = 0.5F * (expf(dh) * height);

    return (struct box){.x1 = to_x - half_width,
                        .y1 = to_y - half_height,
                        .x2 = to_x + half_width,
                        .y2 = to_y + half_height};
}

void box_encode(struct box from, struct box to, const float weights[4],
                float deltas[4])
{
    float width = from.x2 - from.x1, height = from.y2 - from.y1;
    float x = from.x1 + 0.5F * width, y = from.y1 + 0.5F * height;
    float to_width = to.x2 - to.x1, to_height = to.y2 - to.y1;
    float to_x = to.x1 + 0.5F * to_width, to_y = to.y1 + 0.5F * to_height;

    deltas[0] = weights[0] * (to_x - x) / width;
    deltas[1] = weights[1] * (to_y - y) / height;
    deltas[2] = weights[2] * logf(to_width / width);
    deltas[3] = weights[3] * logf(to_height / height);
}

struct box box_clip(struct box box, int64_t height, int64_t width)
{
    return (struct box){.x1 = boxes_between(box.x1, 0, (float)width),
                        .y1 = boxes_between(box.y1, 0, (float)height),
                        .x2 = boxes_between(box.x2, 0, (float)width),
                        .y2 = boxes_between(box.y2, 0, (float)height)};
}

float box_area(struct box box)
{
    return (box.x2 - box.x1) * (box.y2 - box.y1);
}

bool box_is_at_least(struct box box, float side)
{
    return box.x2 - box.x1 >= side && box.y2 - box.y1 >= side;
}

float box_overlap(struct box a, float a_area, struct box b, float b_area)
{
    float width = (a.x2 < b.x2 ? a.x2 : b.x2) - (a.x1 > b.x1 ? a.x1 : b.x1);
    float height = (a.y2 < b.y2 ? a.y2 : b.y2) - (a.y1 > b.y1 ? a.y1 : b.y1);
    float both = (width > 0 ? width : 0) * (height > 0 ? height : 0);

    return both / (a_area + b_area - both);
}

enum assay_status rows_new(struct pool *pool, enum dtype dtype, size_t n,
                           int64_t width, struct tensor *out, struct error *err)
{
    struct shape shape = shape_of(2, (int64_t)n, width);

    shape.rank = width ? 2 : 1;
    return tensor_new(pool, dtype, &shape, out, err);
}

enum assay_status boxes_rescale(const struct tensor *boxes,
                                const struct tensor *counts,
                                const struct tensor *from_sizes,
                                const struct tensor *to_sizes,
                                const struct tensor *out, struct error *err)
{
    const struct box *from = tensor_boxes(boxes);
    struct box *to = tensor_boxes(out);
    int64_t n_images = counts->shape.dims[0];
    enum assay_status st =
        boxes_check_counts(counts, boxes->shape.dims[0], err);

    if (!st)
        st = boxes_check_sizes(from_sizes, n_images, err);
    if (!st)
        st = boxes_check_sizes(to_sizes, n_images, err);
    for (int64_t image = 0; !st && image < n_images; image++) {
        const int64_t *old = tensor_i64(from_sizes) + 2 * image;
        const int64_t *new = tensor_i64(to_sizes) + 2 * image;
        float down = (float)new[0] / (float)old[0];
        float across = (float)new[1] / (float)old[1];

        for (int64_t i = 0; i < tensor_i64(counts)[image]; i++, from++)
            *to++ = (struct box){from->x1 * across, from->y1 * down,
                                 from->x2 * across, from->y2 * down};
    }
    return st;
}

enum assay_status boxes_check_counts(const struct tensor *counts, int64_t rows,
                                     struct error *err)
{
    int64_t left = rows;

    if (counts->dtype != DTYPE_I64 || counts->shape.rank < 1)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the counts are not a list of int64");
    for (size_t i = 0; i < tensor_elements(counts); i++) {
        int64_t count = tensor_i64(counts)[i];

        if (count < 0 || count > left)
            return error_set(err, ASSAY_BAD_INPUT,
                             "count %zu is %lld, but %lld of %lld are left", i,
                             (long long)count, (long long)left,
                             (long long)rows);
        left -= count;
    }
    if (left)
        return error_set(err, ASSAY_BAD_INPUT,
                         "%lld of %lld rows belong to no image",
                         (long long)left, (long long)rows);
    return ASSAY_OK;
}

enum assay_status boxes_check_list(const struct tensor *boxes,
                                   struct error *err)
{
    char text[64];

    if (boxes->dtype == DTYPE_F32 && boxes->shape.rank == 2 &&
        boxes->shape.dims[1] == 4)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT, "boxes are %s of %s; expected float32 of nx4",
        dtype_name(boxes->dtype), shape_text(&boxes->shape, text, sizeof text));
}

enum assay_status boxes_check_sizes(const struct tensor *sizes, int64_t n,
                                    struct error *err)
{
    char text[64];

    if (sizes->dtype == DTYPE_I64 && sizes->shape.rank == 2 &&
        sizes->shape.dims[0] == n && sizes->shape.dims[1] == 2)
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_INPUT, "sizes are %s of %s; expected int64 of %lldx2",
        dtype_name(sizes->dtype), shape_text(&sizes->shape, text, sizeof text),
        (long long)n);
}
