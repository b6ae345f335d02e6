/* metrics/eval.c - see eval.h. */
#include "metrics/eval.h"

#include "base/mem.h"
#include "data/detections.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void eval_release(struct eval *eval)
{
    coco_map_free(eval->coco);
    voc_map_free(eval->voc);
    dataset_close(eval->dataset);
    mem_free(eval->classes);
    *eval = (struct eval){0};
}

/* ---- an image --------------------------------------------------------- */

/* Start from {0}; the memory is reused for the next image. */
struct eval_image {
    struct coco_truth *truths;
    struct coco_found *founds;
    struct mask *masks; /* of the truths, then of the detections */
    size_t n_masks;
};

static void eval_image_release(struct eval_image *image)
{
    for (size_t i = 0; i < image->n_masks; i++)
        mask_release(&image->masks[i]);
    mem_free(image->truths);
    mem_free(image->founds);
    mem_free(image->masks);
    *image = (struct eval_image){0};
}

static enum assay_status eval_image_make(struct eval_image *image,
                                         size_t n_truths, size_t n_founds,
                                         struct error *err)
{
    image->truths = mem_array(n_truths, sizeof *image->truths);
    image->founds = mem_array(n_founds, sizeof *image->founds);
    image->masks = mem_array(n_truths + n_founds, sizeof *image->masks);
    if (image->truths && image->founds && image->masks)
        return ASSAY_OK;
    return error_nomem(err, (n_truths + n_founds) * sizeof *image->masks,
                       "the objects of an image");
}

/* Whether overlaps, or the box of a detection, need the pixels of an object. */
static enum assay_status eval_mask(struct eval_image *image,
                                   const struct dataset_target *target,
                                   const struct dataset_object *object,
                                   const struct mask **out, struct error *err)
{
    struct mask *mask = &image->masks[image->n_masks++];

    *out = mask;
    if (target->width == 0 || target->height == 0)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the annotations have no width and height, which "
                         "masks need");
    return dataset_object_mask(object, target->width, target->height, mask,
                               err);
}

static enum assay_status eval_add_truth(const struct eval *eval,
                                        struct eval_image *image,
                                        const struct dataset_target *target,
                                        size_t i, struct error *err)
{
    const struct dataset_object *object = &target->objects[i];
    struct coco_truth *truth = &image->truths[i];

    *truth = (struct coco_truth){.x = object->x,
                                 .y = object->y,
                                 .width = object->width,
                                 .height = object->height,
                                 .area = object->area,
                                 .category = object->label,
                                 .is_crowd = object->is_crowd,
                                 .is_ignored = object->is_difficult};
    if (eval->options.overlap == COCO_BOXES)
        return ASSAY_OK;
    return eval_mask(image, target, object, &truth->mask, err);
}

static enum assay_status
eval_add_found(const struct eval *eval, const struct detections *results,
               struct eval_image *image, const struct dataset_target *target,
               const struct detection *item, struct coco_found *found,
               struct error *err)
{
    const struct dataset_object *object = &item->object;
    enum assay_status st = ASSAY_OK;
    double box[4] = {object->x, object->y, object->width, object->height};

    *found = (struct coco_found){.score = item->score,
                                 .category = object->label,
                                 .number = item->number};
    if (eval->options.overlap == COCO_MASKS || !item->has_box)
        st = eval_mask(image, target, object, &found->mask, err);
    if (!st && !item->has_box)
        mask_box(found->mask, box);
    found->x = box[0];
    found->y = box[1];
    found->width = box[2];
    found->height = box[3];
    found->area = results->has_boxes ? box[2] * box[3]
                  : found->mask      ? (double)mask_area(found->mask)
                                     : 0;
    if (st)
        error_context(err, "%s: result %zu", eval->options.results,
                      item->number + 1);
    return st;
}

static void eval_count(struct eval *eval, const struct eval_image *image,
                       size_t n_truths, size_t n_founds)
{
    for (size_t i = 0; i < n_truths; i++) {
        const struct coco_truth *truth = &image->truths[i];
        bool is_wanted = !truth->is_crowd && !truth->is_ignored;

        eval->classes[truth->category].n_objects += is_wanted;
        eval->n_objects += is_wanted;
        eval->n_set_aside += !is_wanted;
    }
    for (size_t i = 0; i < n_founds; i++)
        eval->classes[image->founds[i].category].n_found++;
    eval->n_found += n_founds;
    eval->n_images++;
}

static enum assay_status eval_add_image(struct eval *eval, size_t number,
                                        const struct detections *results,
                                        const struct detection *items, size_t n,
                                        struct error *err)
{
    struct dataset_target target;
    struct eval_image image = {0};
    enum assay_status st = dataset_target(eval->dataset, number, &target, err);

    if (!st)
        st = eval_image_make(&image, target.n_objects, n, err);
    for (size_t i = 0; !st && i < target.n_objects; i++) {
        st = eval_add_truth(eval, &image, &target, i, err);
        if (st)
            error_context(err, "%s: image %" PRId64, eval->options.annotations,
                          target.id);
    }
    for (size_t i = 0; !st && i < n; i++)
        st = eval_add_found(eval, results, &image, &target, &items[i],
                            &image.founds[i], err);
    if (!st)
        st = eval->voc ? voc_map_add(eval->voc, image.truths, target.n_objects,
                                     image.founds, n, err)
                       : coco_map_add(eval->coco, image.truths,
                                      target.n_objects, image.founds, n, err);
    if (!st)
        eval_count(eval, &image, target.n_objects, n);
    eval_image_release(&image);
    return st;
}

/* ---- all of them ------------------------------------------------------ */

static enum assay_status
eval_open(struct eval *eval, struct detections *results, struct error *err)
{
    const struct eval_options *options = &eval->options;
    bool is_voc = options->kind == EVAL_VOC;
    const struct dataset_options data = {
        .kind = is_voc ? DATASET_VOC : DATASET_COCO,
        .split = options->split,
        .path = options->annotations,
        .keeps_shapes = options->overlap == COCO_MASKS,
        .has_no_pictures = true};
    const struct coco_source source = {.path = options->results};
    enum assay_status st = dataset_open(&data, &eval->dataset, err);

    if (st)
        return st;
    eval->n_classes = dataset_class_count(eval->dataset);
    eval->classes = mem_array(eval->n_classes, sizeof *eval->classes);
    if (!eval->classes)
        return error_nomem(err, eval->n_classes * sizeof *eval->classes,
                           "the classes");
    for (size_t i = 0; i < eval->n_classes; i++)
        eval->classes[i].name = dataset_class_name(eval->dataset, i);
    st = is_voc
             ? voc_results_read(eval->dataset, options->results, results, err)
             : coco_results_read(eval->dataset, &source,
                                 options->overlap == COCO_MASKS, results, err);
    if (!st)
        st = is_voc ? voc_map_new(eval->n_classes, options->least_overlap,
                                  &eval->voc, err)
                    : coco_map_new(eval->n_classes, options->overlap,
                                   &eval->coco, err);
    eval->n_left_out = results->n_left_out;
    snprintf(eval->left_out, sizeof eval->left_out, "%s",
             results->left_out ? results->left_out : "");
    return st;
}

static enum assay_status eval_sum_up_voc(struct eval *eval, struct error *err)
{
    enum assay_status st = ASSAY_OK;
    double n = 0;

    eval->voc_11 = eval->voc_all = 0;
    for (size_t i = 0; !st && i < eval->n_classes; i++) {
        struct voc_figures *figures = &eval->classes[i].voc;

        st = voc_map_class(eval->voc, i, figures, NULL, err);
        if (st || isnan(figures->ap_all))
            continue;
        eval->voc_11 += figures->ap_11;
        eval->voc_all += figures->ap_all;
        n++;
    }
    eval->voc_11 = n > 0 ? eval->voc_11 / n : NAN;
    eval->voc_all = n > 0 ? eval->voc_all / n : NAN;
    return st;
}

static enum assay_status eval_sum_up(struct eval *eval, struct error *err)
{
    enum assay_status st;

    if (eval->voc)
        return eval_sum_up_voc(eval, err);
    st = coco_map_summarize(eval->coco, &eval->summary, err);
    for (size_t i = 0; !st && i < eval->n_classes; i++)
        st = coco_map_summarize_category(eval->coco, i, &eval->classes[i].coco,
                                         err);
    return st;
}

enum assay_status eval_run(struct eval *eval,
                           const struct eval_options *options,
                           struct error *err)
{
    struct detections results = {0};
    size_t at = 0;
    enum assay_status st;

    eval->options = *options;
    st = eval_open(eval, &results, err);
    for (size_t i = 0; !st && i < dataset_count(eval->dataset); i++) {
        size_t first = at;

        while (at < results.n && results.items[at].image == i)
            at++;
        st = eval_add_image(eval, i, &results,
                            results.items ? results.items + first : NULL,
                            at - first, err);
    }
    detections_release(&results);
    return st ? st : eval_sum_up(eval, err);
}
