/* train/train_pictures.c - see train_internal.h. */
#include "train/train_internal.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "models/model_open.h"
#include "ops/detection/boxes.h"
#include "picture/canvas.h"
#include "picture/photos.h"
#include "vision/photo_tensor.h"

#include <string.h>

enum {
    n_pictures = 4,
    most_boxes = 10, /* the surest ones of each picture */
    jpeg_quality = 90
};

/* The model as it is used, with the weights it has learned. Its pool is its
 * own, so that it is not in the memory that the training is said to take. */
struct trained_model {
    const struct train_parts *training;
    struct pool *pool;
    struct graph *graph;
    struct engine *engine;
    struct tensor *outputs;
    size_t n_outputs;
};

static void reader_forget(struct trained_model *reader)
{
    for (size_t i = 0; reader->outputs && i < reader->n_outputs; i++)
        tensor_release(&reader->outputs[i]);
}

static void reader_close(struct trained_model *reader)
{
    reader_forget(reader);
    mem_free(reader->outputs);
    engine_free(reader->engine);
    graph_free(reader->graph);
    pool_free(reader->pool);
}

static enum assay_status reader_open(struct trained_model *reader,
                                     struct error *err)
{
    const struct train_parts *training = reader->training;
    struct model_source source = {.name = training->plan.model,
                                  .build = training->plan.build};
    const struct engine_options engine = {
        .device = device_cpu(),
        .backend_options = {.n_threads = training->plan.n_threads,
                            .choices_path = training->job->choices_path}};
    enum assay_status st;

    source.build.is_training = false;
    source.build.n_images = 1;
    st = pool_new(&reader->pool, err);
    if (!st)
        st = model_open(&source, reader->pool, &reader->graph, err);
    if (!st)
        st = model_copy_weights(reader->graph, training->graph, reader->pool,
                                err);
    if (!st)
        st = engine_new(reader->graph, reader->pool, &engine, &reader->engine,
                        err);
    if (st)
        return st;
    reader->n_outputs = graph_output_count(reader->graph);
    reader->outputs = mem_array(reader->n_outputs, sizeof *reader->outputs);
    return reader->outputs
               ? ASSAY_OK
               : error_nomem(err, reader->n_outputs * sizeof *reader->outputs,
                             "the outputs of a model");
}

static enum assay_status reader_look(struct trained_model *reader,
                                     const struct picture *picture,
                                     struct error *err)
{
    struct tensor image = {0};
    enum assay_status st = photo_tensor(picture, reader->pool, &image, err);

    reader_forget(reader);
    if (!st)
        st = engine_run(reader->engine, &image, reader->outputs, err);
    tensor_release(&image);
    return st;
}

/* The dataset's class for a label: by COCO's numbers if the model has those,
 * else by order, after the background. */
static const char *class_name(const struct train_parts *training, int64_t label)
{
    size_t n = dataset_class_count(training->data.dataset);
    bool has_numbers = (int64_t)n + 1 != training->plan.build.n_classes;

    for (size_t i = 0; i < n; i++) {
        int64_t is = has_numbers ? dataset_class_id(training->data.dataset, i)
                                 : (int64_t)i + 1;

        if (is == label)
            return dataset_class_name(training->data.dataset, i);
    }
    return "?";
}

static size_t list_targets(const struct trained_model *reader,
                           struct target targets[most_boxes])
{
    const struct tensor *outputs = reader->outputs;
    size_t n = tensor_elements(&outputs[DETECTOR_SCORES]);

    n = n < most_boxes ? n : most_boxes;
    for (size_t i = 0; i < n; i++) {
        struct box box = tensor_boxes(&outputs[DETECTOR_BOXES])[i];
        int64_t label = tensor_i64(&outputs[DETECTOR_LABELS])[i];

        targets[i] = (struct target){
            .x1 = box.x1,
            .y1 = box.y1,
            .x2 = box.x2,
            .y2 = box.y2,
            .class_index = (int)label,
            .name = class_name(reader->training, label),
            .score = tensor_f32(&outputs[DETECTOR_SCORES])[i],
        };
    }
    return n;
}

static enum assay_status write_picture(const struct train_parts *training,
                                       const char *name,
                                       const struct picture *picture,
                                       struct error *err)
{
    struct str path = {0};
    struct output *output = NULL;
    enum assay_status st = ASSAY_OK;

    if (str_printf(&path, "%s/", training->job->pictures_folder))
        st = error_nomem(err, strlen(training->job->pictures_folder),
                         "a file name");
    if (!st)
        st = photos_drawn_name(name, &path, err);
    if (!st)
        st = cache_make_folders(path.text, err);
    if (!st)
        st = output_open(path.text, &output, err);
    if (!st)
        st =
            picture_write_jpeg(picture, jpeg_quality, output_sink(output), err);
    if (st)
        output_discard(output);
    else
        st = output_commit(output, err);
    str_release(&path);
    return st;
}

static enum assay_status draw_sample(struct trained_model *reader, size_t i,
                                     struct train_report *report,
                                     struct error *err)
{
    const struct train_parts *training = reader->training;
    struct target targets[most_boxes];
    struct dataset_target sample;
    struct picture picture = {0}, drawn = {0};
    size_t n = 0;
    enum assay_status st =
        dataset_target(training->data.dataset, i, &sample, err);

    if (!st)
        st = dataset_picture(training->data.dataset, i, &picture, err);
    if (!st)
        st = reader_look(reader, &picture, err);
    if (!st) {
        n = list_targets(reader, targets);
        st = canvas_draw_photo(&picture, targets, n, &drawn, err);
    }
    if (!st)
        st = write_picture(training, sample.path, &drawn, err);
    if (!st) {
        report->n_pictures++;
        report->n_boxes += n;
    }
    picture_release(&picture);
    picture_release(&drawn);
    return st;
}

enum assay_status train_pictures_write(const struct train_parts *training,
                                       struct train_report *report,
                                       struct error *err)
{
    struct trained_model reader = {.training = training};
    size_t n = dataset_count(training->data.dataset);
    enum assay_status st;

    if (training->plan.task != TASK_DETECTION)
        return ASSAY_OK;
    st = reader_open(&reader, err);
    for (size_t i = 0; !st && i < n && i < n_pictures; i++)
        st = draw_sample(&reader, i, report, err);
    reader_close(&reader);
    return st;
}
