/* data/coco_results.c - results in COCO's format, see detections.h. */
#include "data/detections_internal.h"

#include "base/file.h"
#include "data/coco_annotation_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* Start from {0}. */
struct results_reading {
    const struct dataset *dataset;
    bool keeps_shapes;
    struct json_reader *json;
    struct coco_annotation annotation;
    struct detections *out;
};

/* The images are in the order of their ids. */
static bool results_find_image(const struct dataset *dataset, int64_t id,
                               size_t *image)
{
    size_t low = 0, high = dataset->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (dataset->images[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    *image = low;
    return low < dataset->n && dataset->images[low].id == id;
}

static bool results_find_class(const struct dataset *dataset, int64_t id,
                               size_t *label)
{
    for (*label = 0; *label < dataset->n_classes; ++*label) {
        if (dataset_class_id(dataset, *label) == id)
            return true;
    }
    return false;
}

static enum assay_status results_keep(struct results_reading *reading,
                                      struct detection *found,
                                      struct error *err)
{
    const struct coco_annotation *annotation = &reading->annotation;

    found->score = annotation->score;
    found->has_box = annotation->has_box;
    if (found->has_box) {
        found->object.x = annotation->box[0];
        found->object.y = annotation->box[1];
        found->object.width = annotation->box[2];
        found->object.height = annotation->box[3];
    }
    if (reading->keeps_shapes || !found->has_box) {
        enum assay_status st = coco_annotation_shape(
            annotation, &reading->out->memory, &found->object.shape, err);

        if (st)
            return st;
    }
    return detections_add(reading->out, found, err);
}

static enum assay_status results_read_one(struct results_reading *reading,
                                          struct error *err)
{
    const struct coco_annotation *annotation = &reading->annotation;
    struct detection found = {0};
    enum assay_status st = coco_annotation_read_result(
        &reading->annotation, reading->json, true, err);
    uint64_t line, column;

    if (st)
        return st;
    if (!results_find_image(reading->dataset, annotation->image_id,
                            &found.image)) {
        json_position(reading->json, &line, &column);
        return error_set(err, ASSAY_BAD_INPUT,
                         "line %" PRIu64 ", column %" PRIu64
                         ": a result of image %" PRId64
                         ", which the annotations do not have; is this the "
                         "right pair of files?",
                         line, column, annotation->image_id);
    }
    if (!results_find_class(reading->dataset, annotation->category_id,
                            &found.object.label))
        return detections_leave_out(reading->out, 1, err, "category %" PRId64,
                                    annotation->category_id);
    return results_keep(reading, &found, err);
}

static enum assay_status results_read_all(struct results_reading *reading,
                                          struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reading->json, &token, err);

    if (!st && token != JSON_ARRAY_BEGIN)
        return coco_refuse(reading->json,
                           token == JSON_OBJECT_BEGIN
                               ? "expected a list of results, not an object; "
                                 "annotations go to --annotations"
                               : "expected a list of results",
                           err);
    while (coco_next(reading->json, &token, &st, err))
        st = token == JSON_OBJECT_BEGIN
                 ? results_read_one(reading, err)
                 : coco_refuse(reading->json,
                               "a result must be an object with image_id, "
                               "category_id, score and bbox or segmentation",
                               err);
    return st ? st : json_next(reading->json, &token, err);
}

static enum assay_status results_read_bytes(void *context, char *buffer,
                                            size_t size, size_t *n,
                                            struct error *err)
{
    const int *fd = context;
    ssize_t got = read(*fd, buffer, size);

    *n = got > 0 ? (size_t)got : 0;
    return got < 0 ? error_errno(err, errno, "reading") : ASSAY_OK;
}

enum assay_status coco_results_read(const struct dataset *dataset,
                                    const struct coco_source *source,
                                    bool keeps_shapes, struct detections *out,
                                    struct error *err)
{
    struct results_reading reading = {
        .dataset = dataset, .keeps_shapes = keeps_shapes, .out = out};
    int fd = -1;
    enum assay_status st = ASSAY_OK;

    if (!source->text) {
        st = file_check_input(source->path, err);
        if (!st)
            st = file_open(source->path, &fd, err);
        if (st)
            return st;
    }
    st = source->text
             ? json_reader_new_text(source->text, source->n, &reading.json, err)
             : json_reader_new((struct json_source){results_read_bytes, &fd},
                               NULL, &reading.json, err);
    if (!st)
        st = results_read_all(&reading, err);
    json_reader_free(reading.json);
    coco_annotation_release(&reading.annotation);
    if (fd >= 0)
        close(fd);
    if (st)
        error_context(err, "%s", source->path);
    else
        st = detections_check(out, source->path, err);
    if (!st)
        detections_settle(out);
    return st;
}
