/* vision/decode_lists.c - models that drop overlapping boxes themselves: DETR
 * and its like, also with boxes in pixels, and torchvision's detectors as
 * exported. */
#include "vision/candidates_internal.h"
#include "vision/decoder.h"

#include <math.h>

/* ---- DETR: classes [n, queries, classes + 1], boxes [n, queries, 4] ----- */

/* Boxes are center and size, from 0 to 1; the last class is "no object". */
bool decode_detr_fits(const struct found_source *source)
{
    const struct tensor *scores, *boxes;

    return decode_find_lists(source, &scores, &boxes);
}

/* Those that are proposed: other models have boxes by the thousand. */
bool decode_detr_is_likely(const struct found_source *source)
{
    enum { most_queries = 900 };

    return decode_detr_fits(source) &&
           source->outputs[0].shape.dims[1] <= most_queries;
}

/* The probability of a class: of logits after a softmax. */
static float detr_probability(const float *row, size_t n, size_t at)
{
    double sum = 0, shares = 0;
    bool is_share = true;

    for (size_t i = 0; i < n; i++) {
        is_share &= row[i] >= 0 && row[i] <= 1;
        sum += (double)row[i];
        shares += exp((double)(row[i] - row[at]));
    }
    return is_share && fabs(sum - 1) < 1e-3 ? row[at] : (float)(1 / shares);
}

enum assay_status decode_detr(const struct found_source *source,
                              struct found *found, struct error *err)
{
    const struct tensor *scores = NULL, *boxes = NULL;
    float width = (float)source->recipe->width;
    float height = (float)source->recipe->height;
    struct candidates list;
    const float *row, *box;
    size_t n, n_classes;
    enum assay_status st;

    (void)decode_find_lists(source, &scores, &boxes); /* they fit */
    n = (size_t)boxes->shape.dims[1];
    n_classes = (size_t)scores->shape.dims[2];
    row = tensor_f32(scores) + source->image * n * n_classes;
    box = tensor_f32(boxes) + source->image * n * 4;
    st = candidates_init(&list, source, n, err);
    if (st)
        return st;
    for (size_t i = 0; i < n; i++, row += n_classes, box += 4) {
        size_t best = candidates_best(row, n_classes - 1, 1);
        float half_w = box[2] / 2, half_h = box[3] / 2;

        candidates_add(
            &list,
            (struct box){(box[0] - half_w) * width, (box[1] - half_h) * height,
                         (box[0] + half_w) * width, (box[1] + half_h) * height},
            detr_probability(row, n_classes, best), (int64_t)best);
    }
    st = candidates_keep_all(&list, found, err);
    candidates_release(&list);
    return st;
}

/* ---- boxes in pixels, scores and int64 labels ---------------------------- */

struct decode_lists {
    const struct tensor *boxes, *scores, *labels;
};

/* Models with masks or keypoints have more outputs after these three. rank: of
 * the scores. */
static bool decode_lists_find(const struct found_source *source, int rank,
                              struct decode_lists *lists)
{
    *lists = (struct decode_lists){0};
    for (size_t i = 0; i < source->n_outputs; i++) {
        const struct tensor *output = &source->outputs[i];
        const struct shape *shape = &output->shape;

        if (output->dtype == DTYPE_F32 && shape->rank == rank + 1 &&
            shape->dims[rank] == 4 && !lists->boxes)
            lists->boxes = output;
        else if (output->dtype == DTYPE_F32 && shape->rank == rank &&
                 !lists->scores)
            lists->scores = output;
        else if (output->dtype == DTYPE_I64 && shape->rank == rank &&
                 !lists->labels)
            lists->labels = output;
    }
    if (!lists->boxes || !lists->scores || !lists->labels)
        return false;
    for (int i = 0; i < rank; i++) {
        if (lists->boxes->shape.dims[i] != lists->scores->shape.dims[i] ||
            lists->boxes->shape.dims[i] != lists->labels->shape.dims[i])
            return false;
    }
    return true;
}

/* n of them from `first` on. told: the size of the photograph that the boxes
 * are for. */
static enum assay_status
decode_lists_take(const struct found_source *source,
                  const struct decode_lists *lists, size_t first, size_t n,
                  const double told[2], struct found *found, struct error *err)
{
    double across = (double)source->recipe->width / told[0];
    double down = (double)source->recipe->height / told[1];
    struct candidates list;
    enum assay_status st = candidates_init(&list, source, n, err);

    if (st)
        return st;
    for (size_t i = first; i < first + n; i++) {
        const struct box *box = &tensor_boxes(lists->boxes)[i];

        candidates_add(&list,
                       (struct box){(float)((double)box->x1 * across),
                                    (float)((double)box->y1 * down),
                                    (float)((double)box->x2 * across),
                                    (float)((double)box->y2 * down)},
                       tensor_f32(lists->scores)[i],
                       tensor_i64(lists->labels)[i]);
    }
    st = candidates_keep_all(&list, found, err);
    candidates_release(&list);
    return st;
}

/* torchvision: boxes [n, 4], scores [n], labels [n] of one image. */
bool decode_torchvision_fits(const struct found_source *source)
{
    struct decode_lists lists;

    return source->image == 0 && decode_lists_find(source, 1, &lists);
}

enum assay_status decode_torchvision(const struct found_source *source,
                                     struct found *found, struct error *err)
{
    const double told[2] = {source->recipe->width, source->recipe->height};
    struct decode_lists lists;

    (void)decode_lists_find(source, 1, &lists); /* they fit */
    return decode_lists_take(source, &lists, 0,
                             (size_t)lists.boxes->shape.dims[0], told, found,
                             err);
}

/* RT-DETR, D-FINE, DEIM: boxes [images, n, 4], scores and labels [images, n],
 * for the size that the model is told. */
bool decode_rtdetr_fits(const struct found_source *source)
{
    struct decode_lists lists;

    return decode_lists_find(source, 2, &lists) &&
           source->image < (size_t)lists.boxes->shape.dims[0];
}

/* The outputs do not say how many there are: COCO's, unless others are named.
 */
size_t decode_rtdetr_classes(const struct found_source *source)
{
    (void)source;
    return 80;
}

enum assay_status decode_rtdetr(const struct found_source *source,
                                struct found *found, struct error *err)
{
    const double told[2] = {source->told_width, source->told_height};
    struct decode_lists lists;
    size_t n;

    (void)decode_lists_find(source, 2, &lists); /* they fit */
    if (!(told[0] > 0 && told[1] > 0))
        return error_set(err, ASSAY_BAD_USAGE,
                         "--decode rtdetr cannot place boxes: the model was "
                         "told that the photograph is %gx%g",
                         told[0], told[1]);
    n = (size_t)lists.boxes->shape.dims[1];
    return decode_lists_take(source, &lists, source->image * n, n, told, found,
                             err);
}
