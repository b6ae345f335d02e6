/* metrics/feed.c - see feed.h: from files to the inputs of a model. */
#include "metrics/feed_internal.h"

#include "base/mem.h"
#include "detect/photo_tensor.h"
#include "metrics/profiler_internal.h"

void feed_close(struct feed *feed)
{
    if (!feed)
        return;
    for (size_t i = 0; feed->slots && i < feed->n_slots; i++) {
        mem_free(feed->slots[i].pixels);
        mem_free(feed->slots[i].boxes);
    }
    mem_free(feed->slots);
    model_inputs_release(&feed->inputs);
    dataset_close(feed->dataset);
    mem_free(feed);
}

const struct assay_dataset *feed_dataset(const struct feed *feed)
{
    return &feed->shown;
}

size_t feed_class_count(const struct feed *feed)
{
    return dataset_class_count(feed->dataset);
}

static bool gives_objects(const struct feed *feed)
{
    enum decode decode = feed->options.decode;

    return decode == DECODE_DETECTOR || decode == DECODE_YOLOV8 ||
           decode == DECODE_SSD;
}

/* Where images have a class too, the model says what is meant. */
bool feed_has_objects(const struct feed *feed)
{
    return dataset_has_objects(feed->dataset) && gives_objects(feed);
}

void feed_set_progress(struct feed *feed, struct progress *progress)
{
    feed->progress = progress;
}

void profiler_set_feed(struct assay_profiler *profiler, struct feed *feed)
{
    profiler->feed = feed;
    assay_profiler_set_dataset(profiler, &feed->shown);
}

/* ---- a sample --------------------------------------------------------- */

static enum assay_status copy_boxes(struct feed_slot *slot,
                                    const struct dataset_target *target,
                                    struct assay_target *out, struct error *err)
{
    struct assay_box *boxes = mem_array(target->n_objects, sizeof *boxes);

    if (!boxes)
        return error_nomem(err, target->n_objects * sizeof *boxes,
                           "the objects of an image");
    for (size_t i = 0; i < target->n_objects; i++) {
        const struct dataset_object *object = &target->objects[i];

        boxes[i] = (struct assay_box){.x = object->x,
                                      .y = object->y,
                                      .width = object->width,
                                      .height = object->height,
                                      .label = (int64_t)object->label,
                                      .is_crowd = object->is_crowd};
    }
    mem_free(slot->boxes);
    slot->boxes = boxes;
    out->boxes = boxes;
    out->n_boxes = target->n_objects;
    return ASSAY_OK;
}

/* A picture as it is, [3,h,w] in 0..1. */
static enum assay_status fill_photograph(struct feed_slot *slot,
                                         const struct picture *picture,
                                         struct assay_tensor *input,
                                         struct error *err)
{
    size_t n = (size_t)picture->width * (size_t)picture->height;
    float *pixels = mem_realloc(slot->pixels, n * 3 * sizeof *pixels);

    if (!pixels)
        return error_nomem(err, n * 3 * sizeof *pixels, "a picture");
    slot->pixels = pixels;
    photo_spread(picture, pixels);
    input->dims[0] = 3;
    input->dims[1] = picture->height;
    input->dims[2] = picture->width;
    input->n_elements = n * 3;
    input->n_bytes = n * 3 * sizeof *pixels;
    input->data = pixels;
    return ASSAY_OK;
}

static enum assay_status fill_input(struct feed *feed,
                                    const struct picture *picture,
                                    struct assay_tensor *inputs, size_t at,
                                    struct error *err)
{
    size_t n = recipe_elements(&feed->inputs.recipe);

    if (feed->inputs.kind == INPUTS_PHOTOGRAPHS)
        return fill_photograph(&feed->slots[at], picture, &inputs[at], err);
    return recipe_apply(&feed->inputs.recipe, picture,
                        (float *)inputs[0].data + at * n, err);
}

static enum assay_status read_sample(struct feed *feed, size_t i,
                                     struct assay_tensor *inputs, size_t at,
                                     struct assay_target *target,
                                     struct error *err)
{
    struct dataset_target known;
    struct picture picture = {0};
    enum assay_status st = dataset_target(feed->dataset, i, &known, err);

    if (!st)
        st = dataset_picture(feed->dataset, i, &picture, err);
    if (!st)
        st = fill_input(feed, &picture, inputs, at, err);
    if (!st)
        st = copy_boxes(&feed->slots[at], &known, target, err);
    if (!st) {
        target->label = known.label;
        feed->slots[at].width = picture.width;
        feed->slots[at].height = picture.height;
    }
    picture_release(&picture);
    if (feed->progress)
        progress_update(feed->progress, i);
    return st;
}

static enum assay_status read_for_profiler(void *context, size_t i,
                                           struct assay_tensor *inputs,
                                           size_t at,
                                           struct assay_target *target,
                                           struct assay_error *error)
{
    struct error err = {0};

    return error_export(&err, read_sample(context, i, inputs, at, target, &err),
                        error);
}

/* ---- opening ---------------------------------------------------------- */

static void set_options(struct feed *feed, const struct feed_options *options)
{
    /* As low as makes no difference to precision. */
    const double least_score = 0.001;
    struct detect_options *job = &feed->options;

    *job = feed->model->options;
    job->is_random = false;
    job->score = least_score;
    if (job->is_onnx) {
        job->decode = options->decode;
        job->recipe = options->recipe;
    }
    job->iou = job->decode == DECODE_YOLOV8 ? 0.7 : 0.45;
}

static enum assay_status check_task(const struct feed *feed, struct error *err)
{
    if (!dataset_has_objects(feed->dataset) && gives_objects(feed))
        return error_set(err, ASSAY_BAD_USAGE,
                         "%s finds objects, and this dataset has one class an "
                         "image; --dataset coco and voc have objects",
                         feed->options.model);
    if (dataset_has_classes(feed->dataset) || gives_objects(feed))
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "this dataset has objects, and what %s gives is not known "
                     "to be any; --decode says how an ONNX file tells them",
                     feed->options.model);
}

/* A detector of COCO's classes knows them by name: some have to be the
 * dataset's. */
static enum assay_status check_names(const struct feed *feed, struct error *err)
{
    enum { first = 1, last = 90 };

    for (int64_t label = first; label <= last; label++) {
        if (feed_class(feed, NULL, label) != SIZE_MAX)
            return ASSAY_OK;
    }
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s knows none of the %zu classes of the dataset; one "
                     "that was trained on it has --classes %zu and --weights",
                     feed->options.model, dataset_class_count(feed->dataset),
                     dataset_class_count(feed->dataset) + 1);
}

/* A classifier numbers its classes as the dataset does, or all is wrong. */
static enum assay_status check_scores(const struct feed *feed,
                                      struct error *err)
{
    const struct assay_model *model = feed->model;
    uint32_t output = graph_output_at(model->graph, 0, NULL);
    size_t n = dataset_class_count(feed->dataset);
    const struct shape *shape = &model->survey.values[output].shape;

    if (!model->survey.is_known[output] || shape->rank != 2 ||
        shape->dims[1] == (int64_t)n)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s tells %lld classes apart, and the dataset has %zu; "
                     "--classes says how many a built-in model has",
                     feed->options.model, (long long)shape->dims[1], n);
}

static enum assay_status check_classes(const struct feed *feed,
                                       struct error *err)
{
    if (feed->options.decode == DECODE_DETECTOR)
        return check_names(feed, err);
    return gives_objects(feed) ? ASSAY_OK : check_scores(feed, err);
}

static enum assay_status make_slots(struct feed *feed, struct error *err)
{
    feed->n_slots = (size_t)feed->model->totals.images;
    feed->slots = mem_array(feed->n_slots, sizeof *feed->slots);
    return feed->slots ? ASSAY_OK
                       : error_nomem(err, feed->n_slots * sizeof *feed->slots,
                                     "a batch");
}

enum assay_status feed_open(struct assay_model *model,
                            const struct feed_options *options,
                            struct feed **out, struct error *err)
{
    struct feed *feed = mem_zalloc(sizeof *feed);
    enum assay_status st;

    *out = NULL;
    if (!feed)
        return error_nomem(err, sizeof *feed, "a dataset");
    feed->model = model;
    set_options(feed, options);
    st = dataset_open(&options->data, &feed->dataset, err);
    if (!st)
        st = check_task(feed, err);
    if (!st)
        st = check_classes(feed, err);
    if (!st)
        st = model_inputs_settle(&feed->inputs, &feed->options, model->graph,
                                 NULL, err);
    if (!st)
        st = make_slots(feed, err);
    if (st) {
        feed_close(feed);
        return st;
    }
    feed->shown = (struct assay_dataset){
        .name = dataset_kind_name(options->data.kind),
        .split = options->data.split == DATASET_TRAIN ? "train" : "test",
        .n = dataset_count(feed->dataset),
        .context = feed,
        .read = read_for_profiler};
    *out = feed;
    return ASSAY_OK;
}
