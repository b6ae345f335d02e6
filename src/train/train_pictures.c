/* train/train_pictures.c - see train_pictures.h. */
#include "train/train_pictures.h"

#include "base/cache.h"
#include "base/file.h"
#include "base/mem.h"
#include "detect/photo_tensor.h"
#include "detect/session.h"
#include "ops/detection/boxes.h"
#include "picture/canvas.h"
#include "picture/photos.h"

#include <string.h>

enum {
    n_pictures = 4,
    most_boxes = 10, /* of each, the surest */
    jpeg_quality = 90
};

/* The model as it is used, with the weights that it has learned. */
struct reader {
    const struct train_pictures *job;
    struct graph *graph;
    struct engine *engine;
    struct tensor *outputs;
    size_t n_outputs;
};

static void reader_forget(struct reader *reader)
{
    for (size_t i = 0; reader->outputs && i < reader->n_outputs; i++)
        tensor_release(&reader->outputs[i]);
}

static void reader_close(struct reader *reader)
{
    reader_forget(reader);
    mem_free(reader->outputs);
    engine_free(reader->engine);
    graph_free(reader->graph);
}

static enum assay_status reader_open(struct reader *reader, struct error *err)
{
    const struct train_pictures *job = reader->job;
    struct model_options build = job->plan->build;
    const struct engine_options engine = {
        .backend = backend_best(),
        .backend_options = {.n_threads = job->plan->n_threads,
                            .choices_path = job->choices_path}};
    enum assay_status st;

    build.is_training = false;
    build.n_images = 1;
    st = model_build(job->plan->model, &build, &reader->graph, err);
    if (!st)
        st = model_copy_weights(reader->graph, job->graph, job->pool, err);
    if (!st)
        st =
            engine_new(reader->graph, job->pool, &engine, &reader->engine, err);
    if (st)
        return st;
    reader->n_outputs = graph_output_count(reader->graph);
    reader->outputs = mem_array(reader->n_outputs, sizeof *reader->outputs);
    return reader->outputs
               ? ASSAY_OK
               : error_nomem(err, reader->n_outputs * sizeof *reader->outputs,
                             "what a model gives");
}

static enum assay_status reader_look(struct reader *reader,
                                     const struct picture *picture,
                                     struct error *err)
{
    struct tensor image = {0};
    enum assay_status st =
        photo_tensor(picture, reader->job->pool, &image, err);

    reader_forget(reader);
    if (!st)
        st = engine_run(reader->engine, &image, reader->outputs, err);
    tensor_release(&image);
    return st;
}

/* The dataset's class of a label: COCO's numbers where the model has those,
 * else the classes in order behind the background. */
static const char *class_name(const struct train_pictures *job, int64_t label)
{
    size_t n = dataset_class_count(job->dataset);
    bool has_numbers = (int64_t)n + 1 != job->plan->build.n_classes;

    for (size_t i = 0; i < n; i++) {
        int64_t is =
            has_numbers ? dataset_class_id(job->dataset, i) : (int64_t)i + 1;

        if (is == label)
            return dataset_class_name(job->dataset, i);
    }
    return "?";
}

static size_t list_targets(const struct reader *reader,
                           struct target targets[most_boxes])
{
    const struct tensor *outputs = reader->outputs;
    size_t n = tensor_elements(&outputs[SESSION_SCORES]);

    n = n < most_boxes ? n : most_boxes;
    for (size_t i = 0; i < n; i++) {
        struct box box = tensor_boxes(&outputs[SESSION_BOXES])[i];
        int64_t label = tensor_i64(&outputs[SESSION_LABELS])[i];

        targets[i] = (struct target){
            .x1 = box.x1,
            .y1 = box.y1,
            .x2 = box.x2,
            .y2 = box.y2,
            .class_index = (int)label,
            .name = class_name(reader->job, label),
            .score = tensor_f32(&outputs[SESSION_SCORES])[i],
        };
    }
    return n;
}

static enum assay_status write_picture(const struct train_pictures *job,
                                       const char *name,
                                       const struct picture *picture,
                                       struct error *err)
{
    struct str path = {0};
    struct output *output = NULL;
    enum assay_status st = ASSAY_OK;

    if (str_printf(&path, "%s/", job->folder))
        st = error_nomem(err, strlen(job->folder), "a file name");
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

static enum assay_status draw_sample(struct reader *reader, size_t i,
                                     struct train_report *report,
                                     struct error *err)
{
    const struct train_pictures *job = reader->job;
    struct target targets[most_boxes];
    struct dataset_target sample;
    struct picture picture = {0};
    size_t n = 0;
    enum assay_status st = dataset_target(job->dataset, i, &sample, err);

    if (!st)
        st = dataset_picture(job->dataset, i, &picture, err);
    if (!st)
        st = reader_look(reader, &picture, err);
    if (!st) {
        n = list_targets(reader, targets);
        st = canvas_draw_targets(&picture, targets, n, err);
    }
    if (!st)
        st = write_picture(job, sample.path, &picture, err);
    if (!st) {
        report->n_pictures++;
        report->n_boxes += n;
    }
    picture_release(&picture);
    return st;
}

enum assay_status train_pictures_write(const struct train_pictures *pictures,
                                       struct train_report *report,
                                       struct error *err)
{
    struct reader reader = {.job = pictures};
    size_t n = dataset_count(pictures->dataset);
    enum assay_status st;

    if (pictures->plan->task != TASK_DETECTION)
        return ASSAY_OK;
    st = reader_open(&reader, err);
    for (size_t i = 0; !st && i < n && i < n_pictures; i++)
        st = draw_sample(&reader, i, report, err);
    reader_close(&reader);
    return st;
}
