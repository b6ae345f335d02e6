/* vision/decode_boxes.c - the boxes of YOLOv8 and SSD models: already decoded,
 * but with overlapping ones. */
#include "vision/candidates_internal.h"
#include "vision/decoder.h"

#include "base/mem.h"

/* ---- YOLOv8: [n, 4 + classes, boxes], center and size ------------------- */

/* One box per cell of three grids; some models add one with half the smallest
 * stride, or with twice the largest. */
bool decode_yolov8_fits(const struct found_source *source)
{
    const struct tensor *output = &source->outputs[0];
    const struct recipe *recipe = source->recipe;
    size_t n;

    if (source->n_outputs < 1 || output->dtype != DTYPE_F32 ||
        output->shape.rank != 3 || output->shape.dims[1] <= 4 ||
        output->shape.dims[0] <= (int64_t)source->image)
        return false;
    n = (size_t)output->shape.dims[2];
    return n == candidates_cells_of(recipe, 8, 3) ||
           n == candidates_cells_of(recipe, 8, 4) ||
           n == candidates_cells_of(recipe, 4, 4);
}

size_t decode_yolov8_classes(const struct found_source *source)
{
    return (size_t)source->outputs[0].shape.dims[1] - 4;
}

static void take_yolov8(const float *data, size_t n_classes,
                        struct candidates *list)
{
    size_t n = list->room;

    for (size_t i = 0; i < n; i++) {
        float x = data[i], y = data[n + i], half_w = data[2 * n + i] / 2;
        float half_h = data[3 * n + i] / 2;
        const float *scores = data + 4 * n + i;
        size_t best = candidates_best(scores, n_classes, n);
        struct box box = {x - half_w, y - half_h, x + half_w, y + half_h};

        candidates_add(list, box, scores[best * n], (int64_t)best);
    }
}

enum assay_status decode_yolov8(const struct found_source *source,
                                struct found *found, struct error *err)
{
    const struct tensor *output = &source->outputs[0];
    size_t n_boxes = (size_t)output->shape.dims[2];
    size_t n_classes = decode_yolov8_classes(source);
    struct candidates list;
    enum assay_status st = candidates_init(&list, source, n_boxes, err);

    if (st)
        return st;
    take_yolov8(tensor_f32(output) + source->image * (n_classes + 4) * n_boxes,
                n_classes, &list);
    st = candidates_keep_best(&list, source, n_classes, found, err);
    candidates_release(&list);
    return st;
}

/* ---- SSD: scores [n, boxes, classes], boxes [n, boxes, 4] from 0 to 1 --- */

static bool is_list(const struct tensor *output, size_t image)
{
    return output->dtype == DTYPE_F32 && output->shape.rank == 3 &&
           output->shape.dims[0] > (int64_t)image;
}

bool decode_find_lists(const struct found_source *source,
                       const struct tensor **scores,
                       const struct tensor **boxes)
{
    const struct tensor *outputs = source->outputs;
    size_t first;

    if (source->n_outputs < 2 || !is_list(&outputs[0], source->image) ||
        !is_list(&outputs[1], source->image))
        return false;
    first = outputs[1].shape.dims[2] == 4 ? 0 : 1;
    *scores = &outputs[first];
    *boxes = &outputs[1 - first];
    return (*boxes)->shape.dims[2] == 4 && (*scores)->shape.dims[2] > 1 &&
           (*boxes)->shape.dims[1] == (*scores)->shape.dims[1];
}

bool decode_ssd_fits(const struct found_source *source)
{
    const struct tensor *scores, *boxes;

    return decode_find_lists(source, &scores, &boxes);
}

/* Class 0 is the background. */
static void take_ssd(const struct found_source *source, const float *scores,
                     const struct box *boxes, size_t n_boxes, size_t n_classes,
                     struct candidates *list)
{
    const struct recipe *recipe = source->recipe;
    float width = (float)recipe->width, height = (float)recipe->height;

    for (size_t i = 0; i < n_boxes; i++) {
        struct box box = {boxes[i].x1 * width, boxes[i].y1 * height,
                          boxes[i].x2 * width, boxes[i].y2 * height};

        for (size_t c = 1; c < n_classes; c++)
            candidates_add(list, box, scores[i * n_classes + c], (int64_t)c);
    }
}

enum assay_status decode_ssd(const struct found_source *source,
                             struct found *found, struct error *err)
{
    const struct tensor *scores = NULL, *boxes = NULL;
    size_t n_boxes, n_classes, before, room;
    struct candidates list;
    enum assay_status st;

    (void)decode_find_lists(source, &scores, &boxes); /* they fit */
    n_boxes = (size_t)boxes->shape.dims[1];
    n_classes = (size_t)scores->shape.dims[2];
    before = source->image * n_boxes;
    if (!mem_mul(n_boxes, n_classes - 1, &room))
        return error_nomem(err, SIZE_MAX, "the boxes of a model");
    st = candidates_init(&list, source, room, err);
    if (st)
        return st;
    take_ssd(source, tensor_f32(scores) + before * n_classes,
             (const struct box *)tensor_f32(boxes) + before, n_boxes, n_classes,
             &list);
    st = candidates_keep_best(&list, source, n_classes, found, err);
    candidates_release(&list);
    return st;
}
