/* detect/decode_boxes.c - boxes as YOLOv8 and SSD models give them: decoded,
 * but with everything that overlaps still in. */
#include "detect/found.h"

#include "base/mem.h"
#include "ops/detection/nms.h"

/* Boxes that reach the score, in pixels of the photograph. */
struct candidates {
    struct box *boxes;
    float *scores;
    int64_t *labels;
    uint32_t *kept;
    size_t n, room;
};

static void candidates_release(struct candidates *list)
{
    mem_free(list->boxes);
    mem_free(list->scores);
    mem_free(list->labels);
    mem_free(list->kept);
}

static enum assay_status candidates_init(struct candidates *list, size_t room,
                                         struct error *err)
{
    *list = (struct candidates){.room = room};
    list->boxes = mem_array(room, sizeof *list->boxes);
    list->scores = mem_array(room, sizeof *list->scores);
    list->labels = mem_array(room, sizeof *list->labels);
    list->kept = mem_array(room, sizeof *list->kept);
    if (list->boxes && list->scores && list->labels && list->kept)
        return ASSAY_OK;
    candidates_release(list);
    return error_nomem(err, room * sizeof *list->boxes, "the boxes of a model");
}

static void candidates_add(struct candidates *list, struct box box, float score,
                           int64_t label)
{
    list->boxes[list->n] = box;
    list->scores[list->n] = score;
    list->labels[list->n++] = label;
}

/* From what the model reads back to the photograph. */
static struct box to_photo(const struct placement *place, struct box box)
{
    return (struct box){
        .x1 = (float)((box.x1 - place->left) / place->x_scale),
        .y1 = (float)((box.y1 - place->top) / place->y_scale),
        .x2 = (float)((box.x2 - place->left) / place->x_scale),
        .y2 = (float)((box.y2 - place->top) / place->y_scale),
    };
}

/* Drops what overlaps a surer box of its class, and hands over the rest. */
static enum assay_status keep_best(const struct found_source *source,
                                   struct candidates *list, size_t n_classes,
                                   struct found *found, struct error *err)
{
    struct op_context context = {.pool = source->session->pool, .n_threads = 1};
    struct nms_input input = {.boxes = list->boxes,
                              .scores = list->scores,
                              .groups = list->labels,
                              .n = list->n,
                              .n_groups = n_classes,
                              .iou = (float)source->options->iou};
    size_t n = 0;
    enum assay_status st = nms_run(&context, &input, list->kept, &n, err);

    if (!st)
        st = found_reserve(found, n, err);
    for (size_t i = 0; !st && i < n; i++) {
        uint32_t at = list->kept[i];

        found->items[found->n++] = (struct found_item){
            .box = list->boxes[at],
            .score = list->scores[at],
            .label = list->labels[at],
        };
    }
    return st;
}

static struct placement place_of(const struct found_source *source)
{
    return recipe_place(&source->session->inputs.recipe, source->width,
                        source->height);
}

/* ---- YOLOv8: [n, 4 + classes, boxes], centre and size -----------------------
 */

static bool is_yolov8(const struct tensor *output, size_t image)
{
    return output->dtype == DTYPE_F32 && output->shape.rank == 3 &&
           output->shape.dims[1] > 4 && output->shape.dims[0] > (int64_t)image;
}

/* The best class of box i, and its score. */
static int64_t best_class(const float *scores, size_t n_classes, size_t n_boxes,
                          size_t i, float *score)
{
    size_t best = 0;

    for (size_t c = 1; c < n_classes; c++) {
        if (scores[c * n_boxes + i] > scores[best * n_boxes + i])
            best = c;
    }
    *score = scores[best * n_boxes + i];
    return (int64_t)best;
}

static void take_yolov8(const struct found_source *source, const float *data,
                        size_t n_classes, struct candidates *list)
{
    struct placement place = place_of(source);
    size_t n = list->room;

    for (size_t i = 0; i < n; i++) {
        float x = data[i], y = data[n + i], half_w = data[2 * n + i] / 2;
        float half_h = data[3 * n + i] / 2, score;
        int64_t label = best_class(data + 4 * n, n_classes, n, i, &score);
        struct box box = {x - half_w, y - half_h, x + half_w, y + half_h};

        if (score > (float)source->options->score)
            candidates_add(list, to_photo(&place, box), score, label);
    }
}

enum assay_status decode_yolov8(const struct found_source *source,
                                struct found *found, struct error *err)
{
    const struct tensor *output = &source->session->outputs[0];
    size_t n_values, n_boxes;
    struct candidates list;
    enum assay_status st;
    char text[64];

    if (!is_yolov8(output, source->image))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--decode yolov8 wants a first output of "
                         "[images,4+classes,boxes]; it is %s",
                         shape_text(&output->shape, text, sizeof text));
    n_values = (size_t)output->shape.dims[1];
    n_boxes = (size_t)output->shape.dims[2];
    st = candidates_init(&list, n_boxes, err);
    if (st)
        return st;
    take_yolov8(source, tensor_f32(output) + source->image * n_values * n_boxes,
                n_values - 4, &list);
    st = keep_best(source, &list, n_values - 4, found, err);
    candidates_release(&list);
    return st;
}

/* ---- SSD: scores [n, boxes, classes], boxes [n, boxes, 4] in parts of 1
 * ------ */

static bool is_list(const struct tensor *output, size_t image)
{
    return output->dtype == DTYPE_F32 && output->shape.rank == 3 &&
           output->shape.dims[0] > (int64_t)image;
}

/* Two lists of as many rows, whatever their order. */
static bool find_lists(const struct found_source *source,
                       const struct tensor **scores,
                       const struct tensor **boxes)
{
    const struct tensor *outputs = source->session->outputs;
    size_t first;

    if (source->session->n_outputs < 2 ||
        !is_list(&outputs[0], source->image) ||
        !is_list(&outputs[1], source->image))
        return false;
    first = outputs[1].shape.dims[2] == 4 ? 0 : 1;
    *scores = &outputs[first];
    *boxes = &outputs[1 - first];
    return (*boxes)->shape.dims[2] == 4 && (*scores)->shape.dims[2] > 1 &&
           (*boxes)->shape.dims[1] == (*scores)->shape.dims[1];
}

/* Class 0 is the background. */
static void take_ssd(const struct found_source *source, const float *scores,
                     const struct box *boxes, size_t n_boxes, size_t n_classes,
                     struct candidates *list)
{
    const struct recipe *recipe = &source->session->inputs.recipe;
    struct placement place = place_of(source);
    float width = (float)recipe->width, height = (float)recipe->height;

    for (size_t i = 0; i < n_boxes; i++) {
        struct box box = {boxes[i].x1 * width, boxes[i].y1 * height,
                          boxes[i].x2 * width, boxes[i].y2 * height};

        for (size_t c = 1; c < n_classes; c++) {
            float score = scores[i * n_classes + c];

            if (score > (float)source->options->score)
                candidates_add(list, to_photo(&place, box), score, (int64_t)c);
        }
    }
}

enum assay_status decode_ssd(const struct found_source *source,
                             struct found *found, struct error *err)
{
    const struct tensor *scores, *boxes;
    size_t n_boxes, n_classes, before, room;
    struct candidates list;
    enum assay_status st;

    if (!find_lists(source, &scores, &boxes))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--decode ssd wants two outputs, scores "
                         "[images,boxes,classes] and boxes [images,boxes,4]");
    n_boxes = (size_t)boxes->shape.dims[1];
    n_classes = (size_t)scores->shape.dims[2];
    before = source->image * n_boxes;
    if (!mem_mul(n_boxes, n_classes - 1, &room))
        return error_nomem(err, SIZE_MAX, "the boxes of a model");
    st = candidates_init(&list, room, err);
    if (st)
        return st;
    take_ssd(source, tensor_f32(scores) + before * n_classes,
             (const struct box *)tensor_f32(boxes) + before, n_boxes, n_classes,
             &list);
    st = keep_best(source, &list, n_classes, found, err);
    candidates_release(&list);
    return st;
}
