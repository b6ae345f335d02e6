/* metrics/detection_metrics.c - see profiler_internal.h. */
#include "metrics/profiler_internal.h"

#include "base/mem.h"
#include "metrics/feed_internal.h"
#include "vision/found.h"

/* A figure for both kinds of overlap. */
#define FIGURE(the_key, the_name, what)                                        \
    {                                                                          \
        .key = the_key, .name = the_name, .description = what,                 \
        .comparison = ASSAY_COMPARE_DIFFERENCE                                 \
    }

enum { N_FIGURES = 12 };

static const struct assay_metric box_metrics[N_FIGURES] = {
    FIGURE("eval_metric", "Evaluation Metric (mAP)",
           "mean average precision of boxes, as COCO defines it, over the "
           "overlaps 0.50, 0.55 ... 0.95"),
    FIGURE("eval_map_50", "mAP@.5", "the same at an overlap of 0.50"),
    FIGURE("eval_map_75", "mAP@.75", "the same at an overlap of 0.75"),
    FIGURE("eval_map_small", "mAP (small)", "of objects below 32x32 pixels"),
    FIGURE("eval_map_medium", "mAP (medium)", "of objects in between"),
    FIGURE("eval_map_large", "mAP (large)", "of objects above 96x96 pixels"),
    FIGURE("eval_ar_1", "AR@1",
           "average recall of boxes, as COCO defines it, with the surest "
           "detection per class and image"),
    FIGURE("eval_ar_10", "AR@10", "the same with the 10 surest"),
    FIGURE("eval_ar_100", "AR@100", "the same with the 100 surest"),
    FIGURE("eval_ar_small", "AR@100 (small)", "of objects below 32x32 pixels"),
    FIGURE("eval_ar_medium", "AR@100 (medium)", "of objects in between"),
    FIGURE("eval_ar_large", "AR@100 (large)", "of objects above 96x96 pixels"),
};

static const struct assay_metric mask_metrics[N_FIGURES] = {
    FIGURE("eval_mask_map", "Mask mAP",
           "mean average precision of masks, as COCO defines it, over the "
           "overlaps 0.50, 0.55 ... 0.95"),
    FIGURE("eval_mask_map_50", "Mask mAP@.5", "the same at 0.50"),
    FIGURE("eval_mask_map_75", "Mask mAP@.75", "the same at 0.75"),
    FIGURE("eval_mask_map_small", "Mask mAP (small)",
           "of objects below 32x32 pixels"),
    FIGURE("eval_mask_map_medium", "Mask mAP (medium)",
           "of objects in between"),
    FIGURE("eval_mask_map_large", "Mask mAP (large)",
           "of objects above 96x96 pixels"),
    FIGURE("eval_mask_ar_1", "Mask AR@1",
           "average recall of masks, as COCO defines it, with the surest "
           "detection per class and image"),
    FIGURE("eval_mask_ar_10", "Mask AR@10", "the same with the 10 surest"),
    FIGURE("eval_mask_ar_100", "Mask AR@100", "the same with the 100 surest"),
    FIGURE("eval_mask_ar_small", "Mask AR@100 (small)",
           "of objects below 32x32 pixels"),
    FIGURE("eval_mask_ar_medium", "Mask AR@100 (medium)",
           "of objects in between"),
    FIGURE("eval_mask_ar_large", "Mask AR@100 (large)",
           "of objects above 96x96 pixels"),
};

void detection_metric_release(struct detection_metric *metric)
{
    coco_map_free(metric->map);
    metric->map = NULL;
}

static enum assay_status detection_begin(void *context,
                                         const struct assay_metric_input *input,
                                         struct assay_error *error)
{
    struct detection_metric *metric = context;
    struct error err = {0};

    (void)input;
    detection_metric_release(metric);
    if (!metric->feed)
        return error_export(&err,
                            error_set(&err, ASSAY_UNSUPPORTED,
                                      "objects can only be scored on a dataset "
                                      "of files (--dataset coco --data PATH)"),
                            error);
    return error_export(&err,
                        coco_map_new(dataset_class_count(metric->feed->dataset),
                                     metric->overlap, &metric->map, &err),
                        error);
}

/* ---- an image --------------------------------------------------------- */

/* Both lists of an image, with the masks they point to. Start from {0}. */
struct scene {
    struct coco_truth *truths;
    struct coco_found *founds;
    struct mask *truth_masks, *found_masks;
    size_t n_truths, n_founds;
    size_t n_truth_masks, n_found_masks; /* filled so far */
};

static void scene_release(struct scene *scene)
{
    for (size_t i = 0; i < scene->n_truth_masks; i++)
        mask_release(&scene->truth_masks[i]);
    for (size_t i = 0; i < scene->n_found_masks; i++)
        mask_release(&scene->found_masks[i]);
    mem_free(scene->truths);
    mem_free(scene->founds);
    mem_free(scene->truth_masks);
    mem_free(scene->found_masks);
}

static enum assay_status scene_make(struct scene *scene, size_t n_truths,
                                    size_t n_founds, struct error *err)
{
    scene->truths = mem_array(n_truths, sizeof *scene->truths);
    scene->founds = mem_array(n_founds, sizeof *scene->founds);
    scene->truth_masks = mem_array(n_truths, sizeof *scene->truth_masks);
    scene->found_masks = mem_array(n_founds, sizeof *scene->found_masks);
    if (scene->truths && scene->founds && scene->truth_masks &&
        scene->found_masks)
        return ASSAY_OK;
    return error_nomem(err, (n_truths + n_founds) * sizeof *scene->truths,
                       "the objects of an image");
}

static enum assay_status add_truth(struct scene *scene,
                                   const struct dataset_object *object,
                                   const struct feed_slot *slot,
                                   enum coco_overlap overlap, struct error *err)
{
    struct mask *mask = &scene->truth_masks[scene->n_truths];

    scene->truths[scene->n_truths++] =
        (struct coco_truth){.x = object->x,
                            .y = object->y,
                            .width = object->width,
                            .height = object->height,
                            .area = object->area,
                            .category = object->label,
                            .is_crowd = object->is_crowd,
                            .is_ignored = object->is_difficult,
                            .mask = mask};
    if (overlap == COCO_BOXES)
        return ASSAY_OK;
    scene->n_truth_masks = scene->n_truths;
    return dataset_object_mask(object, slot->width, slot->height, mask, err);
}

static enum assay_status add_found(struct scene *scene,
                                   const struct found_item *item,
                                   size_t category,
                                   const struct feed_slot *slot,
                                   enum coco_overlap overlap, struct error *err)
{
    struct mask *mask = &scene->found_masks[scene->n_founds];

    scene->founds[scene->n_founds++] = (struct coco_found){
        .x = (double)item->box.x1,
        .y = (double)item->box.y1,
        .width = (double)item->box.x2 - (double)item->box.x1,
        .height = (double)item->box.y2 - (double)item->box.y1,
        .score = (double)item->score,
        .category = category,
        .mask = mask};
    if (overlap == COCO_BOXES)
        return ASSAY_OK;
    scene->n_found_masks = scene->n_founds;
    return mask_from_pixels(item->mask, slot->width, slot->height, mask, err);
}

/* Skips labels that the dataset does not have: their category has no
 * objects. */
static enum assay_status
fill_scene(const struct detection_metric *metric, const struct session *session,
           const struct feed_slot *slot, const struct dataset_target *target,
           const struct found *found, struct scene *scene, struct error *err)
{
    enum assay_status st = scene_make(scene, target->n_objects, found->n, err);

    for (size_t i = 0; !st && i < target->n_objects; i++)
        st = add_truth(scene, &target->objects[i], slot, metric->overlap, err);
    for (size_t i = 0; !st && i < found->n; i++) {
        const struct found_item *item = &found->items[i];
        size_t category = feed_class(metric->feed, session, item->label);

        if (category != SIZE_MAX &&
            (metric->overlap == COCO_BOXES || item->mask))
            st = add_found(scene, item, category, slot, metric->overlap, err);
    }
    return st;
}

static enum assay_status score_image(const struct detection_metric *metric,
                                     size_t image, struct error *err)
{
    const struct feed *feed = metric->feed;
    size_t at = image % feed->n_slots;
    const struct feed_slot *slot = &feed->slots[at];
    const struct session *session = &feed->model->session;
    struct found_source source = {.options = &feed->vision,
                                  .outputs = session->outputs,
                                  .n_outputs = session->n_outputs,
                                  .recipe = &feed->inputs.recipe,
                                  .pool = session->pool,
                                  .image = at,
                                  .width = slot->width,
                                  .height = slot->height,
                                  .told_width = slot->width,
                                  .told_height = slot->height};
    struct dataset_target target;
    struct found found = {0};
    struct scene scene = {0};
    enum assay_status st = dataset_target(feed->dataset, image, &target, err);

    model_inputs_size(&feed->inputs, at, &source.told_width,
                      &source.told_height);
    if (!st)
        st = found_decode(&source, &found, err);
    if (!st)
        st = fill_scene(metric, session, slot, &target, &found, &scene, err);
    if (!st)
        st = coco_map_add(metric->map, scene.truths, scene.n_truths,
                          scene.founds, scene.n_founds, err);
    scene_release(&scene);
    found_release(&found);
    return st;
}

static enum assay_status detection_sample(void *context,
                                          const struct assay_sample *seen,
                                          struct assay_error *error)
{
    struct error err = {0};

    return error_export(
        &err, score_image(context, (size_t)seen->target.image, &err), error);
}

static enum assay_status
detection_compute(void *context, const struct assay_metric_input *input,
                  double *values, struct assay_error *error)
{
    struct detection_metric *metric = context;
    struct coco_summary summary;
    struct error err = {0};
    enum assay_status st = coco_map_summarize(metric->map, &summary, &err);

    (void)input;
    detection_metric_release(metric);
    if (!st) {
        const double figures[N_FIGURES] = {
            summary.map,          summary.map_50,        summary.map_75,
            summary.map_small,    summary.map_medium,    summary.map_large,
            summary.recall_1,     summary.recall_10,     summary.recall_100,
            summary.recall_small, summary.recall_medium, summary.recall_large};

        for (size_t i = 0; i < N_FIGURES; i++)
            values[i] = figures[i];
    }
    return error_export(&err, st, error);
}

struct assay_metric_function
detection_metric_function(struct detection_metric *metric,
                          enum coco_overlap overlap)
{
    metric->overlap = overlap;
    return (struct assay_metric_function){
        .name = overlap == COCO_MASKS ? "mask precision" : "box precision",
        .metrics = overlap == COCO_MASKS ? mask_metrics : box_metrics,
        .n_metrics = N_FIGURES,
        .needs = ASSAY_NEEDS_DATASET,
        .context = metric,
        .begin = detection_begin,
        .sample = detection_sample,
        .compute = detection_compute,
    };
}
