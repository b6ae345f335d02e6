/* metrics/feed.c - see feed.h: from files to the inputs of a model. */
#include "metrics/feed_internal.h"

#include "base/mem.h"
#include "metrics/profiler_internal.h"
#include "vision/decoder.h"
#include "vision/photo_tensor.h"

#include <string.h>

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
    const struct decoder *decoder = decoder_of(feed->vision.decode);

    return decoder && decoder->has_boxes;
}

/* If images have a class as well, the model decides what is meant. */
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

/* A picture in its own size, [3,h,w] in 0..1. */
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

static enum assay_status feed_fill_input(struct feed *feed,
                                         const struct picture *picture,
                                         struct assay_tensor *inputs, size_t at,
                                         struct error *err)
{
    size_t n = recipe_elements(&feed->inputs.recipe);

    if (feed->inputs.kind == INPUTS_PHOTOGRAPHS)
        return fill_photograph(&feed->slots[at], picture, &inputs[at], err);
    for (size_t i = 0; i < feed->inputs.n; i++)
        model_inputs_describe(&feed->inputs, i, picture->width, picture->height,
                              at, inputs[i].data);
    return recipe_apply(&feed->inputs.recipe, picture,
                        (float *)inputs[feed->inputs.image].data + at * n, err);
}

static enum assay_status
feed_read_sample(struct feed *feed, size_t i, struct assay_tensor *inputs,
                 size_t at, struct assay_target *target, struct error *err)
{
    struct dataset_target known;
    struct picture picture = {0};
    enum assay_status st = dataset_target(feed->dataset, i, &known, err);

    if (!st)
        st = dataset_picture(feed->dataset, i, &picture, err);
    if (!st)
        st = feed_fill_input(feed, &picture, inputs, at, err);
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

    return error_export(
        &err, feed_read_sample(context, i, inputs, at, target, &err), error);
}

/* ---- classes ----------------------------------------------------------- */

/* COCO's name for a class of VOC, if it differs. */
static const char *name_in_coco(const char *name)
{
    static const struct {
        const char *voc, *coco;
    } names[] = {
        {"aeroplane", "airplane"},   {"diningtable", "dining table"},
        {"motorbike", "motorcycle"}, {"pottedplant", "potted plant"},
        {"sofa", "couch"},           {"tvmonitor", "tv"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i].voc) == 0)
            return names[i].coco;
    }
    return name;
}

/* The name of a label; NULL if labels are numbers. */
static const char *label_name(const struct feed *feed,
                              const struct session *session, int64_t label,
                              char *buffer, size_t size)
{
    enum { coco_classes = 91 }; /* including the background and gaps */
    const struct found_source source = {
        .options = &feed->vision,
        .outputs = session ? session->outputs : NULL,
        .n_outputs = session ? session->n_outputs : 0,
        .recipe = session ? &session->inputs.recipe : NULL};
    const char *name;

    if (feed->vision.decode == DECODE_DETECTOR &&
        feed->model->options.model.build.n_classes != coco_classes)
        return NULL;
    name = found_name(&source, label, buffer, size);
    return name[strspn(name, "0123456789")] ? name : NULL;
}

size_t feed_class(const struct feed *feed, const struct session *session,
                  int64_t label)
{
    size_t n = dataset_class_count(feed->dataset);
    const struct decoder *decoder = decoder_of(feed->vision.decode);
    int64_t first = !decoder || decoder->has_background;
    char buffer[32];
    const char *name = label_name(feed, session, label, buffer, sizeof buffer);

    if (!name)
        return label >= first && (uint64_t)(label - first) < n
                   ? (size_t)(label - first)
                   : SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const char *class_name = dataset_class_name(feed->dataset, i);

        if (strcmp(name, class_name) == 0 ||
            strcmp(name, name_in_coco(class_name)) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* ---- opening ---------------------------------------------------------- */

static void feed_set_options(struct feed *feed,
                             const struct feed_options *options)
{
    /* Low enough to make no difference to precision. */
    const double least_score = 0.001;
    struct vision_options *vision = &feed->vision;
    const struct decoder *decoder;

    *vision = feed->model->options.vision;
    vision->is_random = false;
    vision->score = least_score;
    if (feed->model->options.model.is_file) {
        vision->decode = options->decode;
        vision->recipe = options->recipe;
        vision->image_input = options->image_input;
    }
    decoder = decoder_of(vision->decode);
    vision->iou = decoder ? decoder->iou : 0.45;
}

static enum assay_status check_task(const struct feed *feed, struct error *err)
{
    if (!dataset_has_objects(feed->dataset) && gives_objects(feed))
        return error_set(
            err, ASSAY_BAD_USAGE,
            "%s finds objects, but this dataset has one class per image; use a "
            "dataset with objects, such as --dataset coco or voc",
            feed->model->options.model.name);
    if (dataset_has_classes(feed->dataset) || gives_objects(feed))
        return ASSAY_OK;
    return error_set(
        err, ASSAY_BAD_USAGE,
        "this dataset has objects, but the outputs of %s are not known to be "
        "objects; say how to read an ONNX file's with --decode",
        feed->model->options.model.name);
}

/* A detector with COCO's classes knows them by name: some must be the
 * dataset's. */
static enum assay_status check_names(const struct feed *feed, struct error *err)
{
    enum { first = 1, last = 90 };

    for (int64_t label = first; label <= last; label++) {
        if (feed_class(feed, NULL, label) != SIZE_MAX)
            return ASSAY_OK;
    }
    return error_set(err, ASSAY_BAD_USAGE,
                     "%s knows none of the %zu classes of the dataset; use one "
                     "that was trained on it, with --classes %zu and --weights",
                     feed->model->options.model.name,
                     dataset_class_count(feed->dataset),
                     dataset_class_count(feed->dataset) + 1);
}

/* A classifier must number its classes as the dataset does. */
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
                     "%s has %lld classes, and the dataset has %zu; set the "
                     "number of a built-in model with --classes",
                     feed->model->options.model.name, (long long)shape->dims[1],
                     n);
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
    feed_set_options(feed, options);
    st = dataset_open(&options->data, &feed->dataset, err);
    if (!st)
        st = check_task(feed, err);
    if (!st && feed->vision.decode == DECODE_DETECTOR)
        st = check_names(feed, err);
    else if (!st && !gives_objects(feed))
        st = check_scores(feed, err);
    if (!st)
        st = model_inputs_settle(&feed->inputs, &model->options.model,
                                 &feed->vision, model->graph, NULL, err);
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
