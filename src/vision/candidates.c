/* vision/candidates.c - see candidates_internal.h. */
#include "vision/candidates_internal.h"

#include "base/mem.h"
#include "ops/detection/nms.h"

#include <stdlib.h>

void candidates_release(struct candidates *list)
{
    mem_free(list->boxes);
    mem_free(list->scores);
    mem_free(list->labels);
    mem_free(list->kept);
}

enum assay_status candidates_init(struct candidates *list,
                                  const struct found_source *source,
                                  size_t room, struct error *err)
{
    *list = (struct candidates){
        .room = room,
        .place = recipe_place(source->recipe, source->width, source->height),
        .least_score = (float)source->options->score,
    };
    list->boxes = mem_array(room, sizeof *list->boxes);
    list->scores = mem_array(room, sizeof *list->scores);
    list->labels = mem_array(room, sizeof *list->labels);
    list->kept = mem_array(room, sizeof *list->kept);
    if (list->boxes && list->scores && list->labels && list->kept)
        return ASSAY_OK;
    candidates_release(list);
    return error_nomem(err, room * sizeof *list->boxes, "the boxes of a model");
}

void candidates_add(struct candidates *list, struct box box, float score,
                    int64_t label)
{
    const struct placement *place = &list->place;

    if (!(score > list->least_score) || list->n == list->room)
        return;
    list->boxes[list->n] = (struct box){
        .x1 = (float)((box.x1 - place->left) / place->x_scale),
        .y1 = (float)((box.y1 - place->top) / place->y_scale),
        .x2 = (float)((box.x2 - place->left) / place->x_scale),
        .y2 = (float)((box.y2 - place->top) / place->y_scale),
    };
    list->scores[list->n] = score;
    list->labels[list->n++] = label;
}

static enum assay_status candidates_give(const struct candidates *list,
                                         size_t n, struct found *found,
                                         struct error *err)
{
    enum assay_status st = found_reserve(found, n, err);

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

enum assay_status candidates_keep_best(struct candidates *list,
                                       const struct found_source *source,
                                       size_t n_classes, struct found *found,
                                       struct error *err)
{
    struct op_context context = {.pool = source->pool, .n_threads = 1};
    struct nms_input input = {.boxes = list->boxes,
                              .scores = list->scores,
                              .groups = list->labels,
                              .n = list->n,
                              .n_groups = n_classes,
                              .iou = (float)source->options->iou};
    size_t n = 0;
    enum assay_status st = nms_run(&context, &input, list->kept, &n, err);

    return st ? st : candidates_give(list, n, found, err);
}

/* Of equal scores the first comes first. */
static int candidates_compare(const void *left, const void *right,
                              void *context)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const float *scores = context;

    if (scores[a] != scores[b])
        return scores[a] > scores[b] ? -1 : 1;
    return (a > b) - (a < b);
}

enum assay_status candidates_keep_all(struct candidates *list,
                                      struct found *found, struct error *err)
{
    for (size_t i = 0; i < list->n; i++)
        list->kept[i] = (uint32_t)i;
    qsort_r(list->kept, list->n, sizeof *list->kept, candidates_compare,
            list->scores);
    return candidates_give(list, list->n, found, err);
}

size_t candidates_best(const float *values, size_t n, size_t step)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++) {
        if (values[i * step] > values[best * step])
            best = i;
    }
    return best;
}

size_t candidates_cells(const struct recipe *recipe, int stride)
{
    size_t across = (size_t)((recipe->width + stride - 1) / stride);
    size_t down = (size_t)((recipe->height + stride - 1) / stride);

    return across * down;
}

size_t candidates_cells_of(const struct recipe *recipe, int stride, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += candidates_cells(recipe, stride << i);
    return sum;
}
