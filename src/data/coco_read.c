/* data/coco_read.c - see coco_read.h. */
#include "data/coco_read.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/vec.h"
#include "data/coco_annotation_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct category {
    int64_t id;
    const char *name;
};

/* An object to keep, until all are known and can be sorted. */
struct kept_object {
    size_t image; /* index in the dataset */
    int64_t category;
    struct dataset_object object;
};

struct coco_reading {
    struct dataset *dataset;
    const struct dataset_options *options;
    struct json_reader *json;
    bool has_images, has_annotations, has_categories;
    bool is_too_early; /* annotations came before images */
    struct category *categories;
    size_t n_categories, categories_capacity;
    struct coco_annotation annotation;
    struct kept_object *objects;
    size_t n_objects, objects_capacity;
};

/* ---- images ----------------------------------------------------------- */

static int by_image_id(const void *a, const void *b)
{
    int64_t x = ((const struct dataset_target *)a)->id;
    int64_t y = ((const struct dataset_target *)b)->id;

    return (x > y) - (x < y);
}

static enum assay_status coco_read_size(struct json_reader *json, int *out,
                                        struct error *err)
{
    int64_t size;
    enum assay_status st =
        coco_read_integer(json, "a size must be a whole number", &size, err);

    if (!st && (size < 1 || size > INT_MAX))
        st = coco_refuse(json, "an image must have at least one pixel", err);
    *out = st ? 0 : (int)size;
    return st;
}

/* Reads a string after its key, into the dataset's memory. */
static enum assay_status coco_read_text(struct coco_reading *reading,
                                        const char **out, struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reading->json, &token, err);

    if (st)
        return st;
    if (token != JSON_STRING)
        return coco_refuse(reading->json, "expected a string", err);
    *out =
        arena_strdup(&reading->dataset->memory, json_text(reading->json, NULL));
    return *out ? ASSAY_OK : error_nomem(err, 32, "a name");
}

static enum assay_status coco_read_image(struct coco_reading *reading,
                                         struct error *err)
{
    struct dataset_target image = {.label = -1};
    struct json_reader *json = reading->json;
    bool has_id = false;
    enum json_token token;
    enum assay_status st = ASSAY_OK;
    int64_t id = 0;

    while (coco_next(json, &token, &st, err)) {
        const char *key = json_text(json, NULL);

        if (strcmp(key, "id") == 0) {
            st = coco_read_integer(json, "an id must be a whole number", &id,
                                   err);
            has_id = true;
        } else if (strcmp(key, "file_name") == 0) {
            st = coco_read_text(reading, &image.path, err);
        } else if (strcmp(key, "width") == 0) {
            st = coco_read_size(json, &image.width, err);
        } else if (strcmp(key, "height") == 0) {
            st = coco_read_size(json, &image.height, err);
        } else {
            st = json_skip(json, err);
        }
    }
    if (!st && (!has_id || !image.path))
        st = coco_refuse(json, "an image without id or file_name", err);
    if (!st)
        st = dataset_add_image(reading->dataset, &image, err);
    if (!st)
        reading->dataset->images[reading->dataset->n - 1].id = id;
    return st;
}

/* Sorts the images by id and applies the limit. */
static enum assay_status settle_images(struct coco_reading *reading,
                                       struct error *err)
{
    struct dataset *dataset = reading->dataset;
    size_t limit = reading->options->limit;

    reading->has_images = true;
    if (dataset->n > 0)
        qsort(dataset->images, dataset->n, sizeof *dataset->images,
              by_image_id);
    for (size_t i = 1; i < dataset->n; i++) {
        if (dataset->images[i].id == dataset->images[i - 1].id)
            return error_set(err, ASSAY_BAD_INPUT,
                             "two images have the id %" PRId64,
                             dataset->images[i].id);
    }
    if (limit && limit < dataset->n)
        dataset->n = limit;
    return ASSAY_OK;
}

/* ---- categories ------------------------------------------------------- */

static int by_category_id(const void *a, const void *b)
{
    int64_t x = ((const struct category *)a)->id;
    int64_t y = ((const struct category *)b)->id;

    return (x > y) - (x < y);
}

static enum assay_status read_category(struct coco_reading *reading,
                                       struct error *err)
{
    struct category category = {0};
    enum json_token token;
    enum assay_status st = ASSAY_OK;
    bool has_id = false;
    void *moved;

    while (coco_next(reading->json, &token, &st, err)) {
        const char *key = json_text(reading->json, NULL);

        if (strcmp(key, "id") == 0) {
            st =
                coco_read_integer(reading->json, "an id must be a whole number",
                                  &category.id, err);
            has_id = true;
        } else if (strcmp(key, "name") == 0) {
            st = coco_read_text(reading, &category.name, err);
        } else {
            st = json_skip(reading->json, err);
        }
    }
    if (st)
        return st;
    if (!has_id || !category.name)
        return coco_refuse(reading->json, "a category without id or name", err);
    moved = vec_reserve(reading->categories, &reading->categories_capacity,
                        reading->n_categories + 1, sizeof category);
    if (!moved)
        return error_nomem(err, sizeof category, "the categories");
    reading->categories = moved;
    reading->categories[reading->n_categories++] = category;
    return ASSAY_OK;
}

static enum assay_status settle_categories(struct coco_reading *reading,
                                           struct error *err)
{
    struct dataset *dataset = reading->dataset;
    struct category *categories = reading->categories;
    size_t n = reading->n_categories;
    enum assay_status st = ASSAY_OK;

    if (n > 0)
        qsort(categories, n, sizeof *categories, by_category_id);
    dataset->class_ids = mem_array(n, sizeof *dataset->class_ids);
    if (!dataset->class_ids)
        return error_nomem(err, n * sizeof *dataset->class_ids,
                           "the categories");
    for (size_t i = 0; !st && i < n; i++) {
        if (i > 0 && categories[i].id == categories[i - 1].id)
            return error_set(err, ASSAY_BAD_INPUT,
                             "two categories have the id %" PRId64,
                             categories[i].id);
        dataset->class_ids[i] = categories[i].id;
        st = dataset_add_class(dataset, categories[i].name,
                               strlen(categories[i].name), err);
    }
    return st;
}

/* ---- annotations ------------------------------------------------------ */

static enum assay_status coco_read_object(struct coco_reading *reading,
                                          struct error *err)
{
    struct coco_annotation *annotation = &reading->annotation;
    struct dataset *dataset = reading->dataset;
    const struct dataset_target *image;
    struct kept_object *kept;
    struct dataset_target wanted = {0};
    enum assay_status st = coco_annotation_read(
        annotation, reading->json, reading->options->keeps_shapes, err);

    if (st)
        return st;
    wanted.id = annotation->image_id;
    image = dataset->n ? bsearch(&wanted, dataset->images, dataset->n,
                                 sizeof *dataset->images, by_image_id)
                       : NULL;
    if (!image)
        return ASSAY_OK;
    kept = vec_reserve(reading->objects, &reading->objects_capacity,
                       reading->n_objects + 1, sizeof *kept);
    if (!kept)
        return error_nomem(err, sizeof *kept, "the objects of a dataset");
    reading->objects = kept;
    kept += reading->n_objects;
    *kept = (struct kept_object){
        .image = (size_t)(image - dataset->images),
        .category = annotation->category_id,
        .object = {.x = annotation->box[0],
                   .y = annotation->box[1],
                   .width = annotation->box[2],
                   .height = annotation->box[3],
                   .area = annotation->has_area
                               ? annotation->area
                               : annotation->box[2] * annotation->box[3],
                   .is_crowd = annotation->is_crowd}};
    st = coco_annotation_shape(annotation, &dataset->memory,
                               &kept->object.shape, err);
    reading->n_objects += st ? 0 : 1;
    return st;
}

static enum assay_status find_label(const struct coco_reading *reading,
                                    const struct kept_object *kept,
                                    size_t *label, struct error *err)
{
    const struct category wanted = {.id = kept->category};
    const struct category *found =
        reading->n_categories
            ? bsearch(&wanted, reading->categories, reading->n_categories,
                      sizeof wanted, by_category_id)
            : NULL;

    if (!found)
        return error_set(err, ASSAY_BAD_INPUT,
                         "an object of image %" PRId64 " has category %" PRId64
                         ", which the file does not have",
                         reading->dataset->images[kept->image].id,
                         kept->category);
    *label = (size_t)(found - reading->categories);
    return ASSAY_OK;
}

/* Gives each image its objects, in the order of the file. */
static enum assay_status settle_objects(struct coco_reading *reading,
                                        struct error *err)
{
    struct dataset *dataset = reading->dataset;
    size_t n = reading->n_objects;
    struct dataset_object *sorted =
        arena_alloc(&dataset->memory, n * sizeof *sorted);
    size_t *ends = mem_array(dataset->n + 1, sizeof *ends);
    enum assay_status st = ASSAY_OK;

    if (!sorted || !ends) {
        mem_free(ends);
        return error_nomem(err, n * sizeof *sorted, "the objects of a dataset");
    }
    for (size_t i = 0; i < n; i++)
        ends[reading->objects[i].image + 1]++;
    for (size_t i = 0; i < dataset->n; i++) {
        dataset->images[i].objects = sorted + ends[i];
        dataset->images[i].n_objects = ends[i + 1];
        ends[i + 1] += ends[i];
    }
    for (size_t i = 0; !st && i < n; i++) {
        const struct kept_object *kept = &reading->objects[i];
        struct dataset_object *object = &sorted[ends[kept->image]++];

        *object = kept->object;
        st = find_label(reading, kept, &object->label, err);
    }
    mem_free(ends);
    return st;
}

/* ---- the file --------------------------------------------------------- */

typedef enum assay_status read_item(struct coco_reading *reading,
                                    struct error *err);

/* Reads a list of objects after its key. */
static enum assay_status coco_read_list(struct coco_reading *reading,
                                        read_item *read, struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reading->json, &token, err);

    if (!st && token != JSON_ARRAY_BEGIN)
        return coco_refuse(reading->json, "expected a list", err);
    while (coco_next(reading->json, &token, &st, err))
        st = token == JSON_OBJECT_BEGIN
                 ? read(reading, err)
                 : coco_refuse(reading->json, "expected an object", err);
    return st;
}

static enum assay_status read_annotations(struct coco_reading *reading,
                                          struct error *err)
{
    if (reading->has_annotations)
        return coco_refuse(reading->json, "duplicate annotations", err);
    if (!reading->has_images) {
        reading->is_too_early = true;
        return json_skip(reading->json, err);
    }
    reading->has_annotations = true;
    return coco_read_list(reading, coco_read_object, err);
}

static enum assay_status coco_read_part(struct coco_reading *reading,
                                        struct error *err)
{
    const char *key = json_text(reading->json, NULL);
    enum assay_status st;

    if (strcmp(key, "annotations") == 0)
        return read_annotations(reading, err);
    if (strcmp(key, "images") == 0 && !reading->has_images) {
        st = coco_read_list(reading, coco_read_image, err);
        return st ? st : settle_images(reading, err);
    }
    if (strcmp(key, "categories") == 0 && !reading->has_categories) {
        reading->has_categories = true;
        return coco_read_list(reading, read_category, err);
    }
    return json_skip(reading->json, err);
}

static enum assay_status read_parts(struct coco_reading *reading,
                                    struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reading->json, &token, err);

    if (!st && token != JSON_OBJECT_BEGIN)
        return coco_refuse(reading->json,
                           "not COCO annotations: expected an object with "
                           "images, annotations and categories",
                           err);
    while (coco_next(reading->json, &token, &st, err))
        st = coco_read_part(reading, err);
    return st ? st : json_next(reading->json, &token, err);
}

static enum assay_status coco_read_file(void *context, char *buffer,
                                        size_t size, size_t *n,
                                        struct error *err)
{
    const int *fd = context;
    ssize_t got = read(*fd, buffer, size);

    *n = got > 0 ? (size_t)got : 0;
    return got < 0 ? error_errno(err, errno, "reading") : ASSAY_OK;
}

/* Goes through the file once; skips what was read before. */
static enum assay_status go_through(struct coco_reading *reading,
                                    const struct coco_source *source,
                                    struct error *err)
{
    int fd = -1;
    enum assay_status st =
        source->text ? ASSAY_OK : file_open(source->path, &fd, err);

    if (st)
        return st;
    st =
        source->text
            ? json_reader_new_text(source->text, source->n, &reading->json, err)
            : json_reader_new((struct json_source){coco_read_file, &fd}, NULL,
                              &reading->json, err);
    if (!st)
        st = read_parts(reading, err);
    json_reader_free(reading->json);
    reading->json = NULL;
    if (fd >= 0)
        close(fd);
    return st;
}

static enum assay_status check_parts(const struct coco_reading *reading,
                                     struct error *err)
{
    const char *missing = !reading->has_images        ? "images"
                          : !reading->has_annotations ? "annotations"
                          : !reading->has_categories  ? "categories"
                                                      : NULL;

    if (!missing)
        return ASSAY_OK;
    return error_set(err, ASSAY_BAD_INPUT,
                     "no list of \"%s\"; use a file of instances", missing);
}

enum assay_status coco_read(struct dataset *dataset,
                            const struct coco_source *source,
                            const struct dataset_options *options,
                            struct error *err)
{
    struct coco_reading reading = {.dataset = dataset, .options = options};
    enum assay_status st = go_through(&reading, source, err);

    if (!st && reading.is_too_early && reading.has_images)
        st = go_through(&reading, source, err);
    if (!st)
        st = check_parts(&reading, err);
    if (!st)
        st = settle_categories(&reading, err);
    if (!st)
        st = settle_objects(&reading, err);
    dataset->has_objects = true;
    error_context(err, "%s", source->path);
    coco_annotation_release(&reading.annotation);
    mem_free(reading.categories);
    mem_free(reading.objects);
    return st;
}
