/* data/coco_annotation.c - see coco_annotation_internal.h. */
#include "data/coco_annotation_internal.h"

#include "base/mem.h"
#include "base/vec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void coco_annotation_release(struct coco_annotation *annotation)
{
    mem_free(annotation->numbers);
    mem_free(annotation->ends);
    mem_free(annotation->runs);
    str_release(&annotation->text);
    *annotation = (struct coco_annotation){0};
}

static void clear(struct coco_annotation *annotation)
{
    annotation->id = 0;
    annotation->has_image = annotation->has_category = false;
    annotation->has_box = annotation->has_area = annotation->is_crowd = false;
    annotation->n_numbers = annotation->n_ends = annotation->n_runs = 0;
    annotation->has_runs = annotation->has_text = false;
    str_clear(&annotation->text);
}

enum assay_status coco_refuse(const struct json_reader *reader,
                              const char *what, struct error *err)
{
    uint64_t line, column;

    json_position(reader, &line, &column);
    return error_set(err, ASSAY_BAD_INPUT,
                     "line %" PRIu64 ", column %" PRIu64 ": %s", line, column,
                     what);
}

enum assay_status coco_read_integer(struct json_reader *reader,
                                    const char *what, int64_t *out,
                                    struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);

    if (!st && (token != JSON_NUMBER || !json_int64(reader, out)))
        st = coco_refuse(reader, what, err);
    return st;
}

static enum assay_status coco_annotation_read_number(struct json_reader *reader,
                                                     enum json_token token,
                                                     double *out,
                                                     struct error *err)
{
    *out = token == JSON_NUMBER ? json_double(reader) : NAN;
    return isfinite(*out) ? ASSAY_OK
                          : coco_refuse(reader, "a number is wanted", err);
}

static enum assay_status
coco_annotation_read_box(struct coco_annotation *annotation,
                         struct json_reader *reader, struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);
    size_t n = 0;

    if (!st && token != JSON_ARRAY_BEGIN)
        return coco_refuse(reader, "a box is a list of four numbers", err);
    while (!st) {
        st = json_next(reader, &token, err);
        if (st || token == JSON_ARRAY_END)
            break;
        if (n == 4)
            return coco_refuse(reader, "a box is a list of four numbers", err);
        st = coco_annotation_read_number(reader, token, &annotation->box[n++],
                                         err);
    }
    if (!st && n != 4)
        st = coco_refuse(reader, "a box is a list of four numbers", err);
    if (!st && (annotation->box[2] < 0 || annotation->box[3] < 0))
        st = coco_refuse(reader, "the size of a box is below 0", err);
    annotation->has_box = !st;
    return st;
}

/* ---- what it covers --------------------------------------------------- */

static enum assay_status read_polygon(struct coco_annotation *annotation,
                                      struct json_reader *reader,
                                      struct error *err)
{
    size_t before = annotation->n_numbers;
    enum json_token token;
    enum assay_status st = ASSAY_OK;
    void *moved;

    while (!st) {
        st = json_next(reader, &token, err);
        if (st || token == JSON_ARRAY_END)
            break;
        moved =
            vec_reserve(annotation->numbers, &annotation->numbers_capacity,
                        annotation->n_numbers + 1, sizeof *annotation->numbers);
        if (!moved)
            return error_nomem(err, sizeof *annotation->numbers, "a polygon");
        annotation->numbers = moved;
        st = coco_annotation_read_number(
            reader, token, &annotation->numbers[annotation->n_numbers++], err);
    }
    if (st)
        return st;
    if ((annotation->n_numbers - before) % 2)
        return coco_refuse(reader, "a polygon has an odd count of numbers",
                           err);
    moved = vec_reserve(annotation->ends, &annotation->ends_capacity,
                        annotation->n_ends + 1, sizeof *annotation->ends);
    if (!moved)
        return error_nomem(err, sizeof *annotation->ends, "a polygon");
    annotation->ends = moved;
    annotation->ends[annotation->n_ends++] = annotation->n_numbers;
    return ASSAY_OK;
}

static enum assay_status read_polygons(struct coco_annotation *annotation,
                                       struct json_reader *reader,
                                       struct error *err)
{
    enum json_token token;
    enum assay_status st = ASSAY_OK;

    while (!st) {
        st = json_next(reader, &token, err);
        if (st || token == JSON_ARRAY_END)
            break;
        st = token == JSON_ARRAY_BEGIN
                 ? read_polygon(annotation, reader, err)
                 : coco_refuse(reader, "a polygon is a list of numbers", err);
    }
    return st;
}

static enum assay_status read_runs(struct coco_annotation *annotation,
                                   struct json_reader *reader,
                                   struct error *err)
{
    enum json_token token;
    enum assay_status st = ASSAY_OK;

    annotation->has_runs = true;
    while (!st) {
        int64_t run;
        void *moved;

        st = json_next(reader, &token, err);
        if (st || token == JSON_ARRAY_END)
            break;
        if (token != JSON_NUMBER || !json_int64(reader, &run) || run < 0 ||
            run > UINT32_MAX)
            return coco_refuse(reader, "a run of pixels is a whole number",
                               err);
        moved = vec_reserve(annotation->runs, &annotation->runs_capacity,
                            annotation->n_runs + 1, sizeof *annotation->runs);
        if (!moved)
            return error_nomem(err, sizeof *annotation->runs, "a mask");
        annotation->runs = moved;
        annotation->runs[annotation->n_runs++] = (uint32_t)run;
    }
    return st;
}

static enum assay_status
coco_annotation_read_counts(struct coco_annotation *annotation,
                            struct json_reader *reader, struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);
    const char *text;
    size_t n;

    if (st)
        return st;
    if (token == JSON_ARRAY_BEGIN)
        return read_runs(annotation, reader, err);
    if (token != JSON_STRING)
        return coco_refuse(reader, "the runs of a mask are a list or a text",
                           err);
    text = json_text(reader, &n);
    annotation->has_text = true;
    str_clear(&annotation->text);
    return str_append_n(&annotation->text, text, n)
               ? error_nomem(err, n, "a mask")
               : ASSAY_OK;
}

/* Of {"counts", "size"} the size is the image's. */
static enum assay_status read_mask(struct coco_annotation *annotation,
                                   struct json_reader *reader,
                                   struct error *err)
{
    enum json_token token;
    enum assay_status st = ASSAY_OK;

    while (!st) {
        st = json_next(reader, &token, err);
        if (st || token == JSON_OBJECT_END)
            break;
        st = strcmp(json_text(reader, NULL), "counts") == 0
                 ? coco_annotation_read_counts(annotation, reader, err)
                 : json_skip(reader, err);
    }
    return st;
}

static enum assay_status
coco_annotation_read_shape(struct coco_annotation *annotation,
                           struct json_reader *reader, struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);

    if (st || token == JSON_NULL)
        return st;
    if (token == JSON_ARRAY_BEGIN)
        return read_polygons(annotation, reader, err);
    if (token == JSON_OBJECT_BEGIN)
        return read_mask(annotation, reader, err);
    return coco_refuse(reader, "a segmentation is polygons or runs", err);
}

static enum assay_status copy_polygons(const struct coco_annotation *annotation,
                                       struct arena *memory,
                                       struct dataset_shape *out,
                                       struct error *err)
{
    size_t n_bytes = annotation->n_numbers * sizeof *annotation->numbers;
    size_t begin = 0;
    double *numbers = arena_alloc(memory, n_bytes);
    struct polygon *polygons =
        arena_alloc(memory, annotation->n_ends * sizeof *polygons);

    if (!numbers || !polygons)
        return error_nomem(err, n_bytes, "polygons");
    if (n_bytes)
        memcpy(numbers, annotation->numbers, n_bytes);
    for (size_t i = 0; i < annotation->n_ends; i++) {
        polygons[i] = (struct polygon){numbers + begin,
                                       (annotation->ends[i] - begin) / 2};
        begin = annotation->ends[i];
    }
    out->polygons = polygons;
    out->n_polygons = annotation->n_ends;
    return ASSAY_OK;
}

enum assay_status
coco_annotation_shape(const struct coco_annotation *annotation,
                      struct arena *memory, struct dataset_shape *out,
                      struct error *err)
{
    size_t n_bytes = annotation->n_runs * sizeof *annotation->runs;

    *out = (struct dataset_shape){0};
    if (annotation->n_ends)
        return copy_polygons(annotation, memory, out, err);
    if (annotation->has_runs) {
        uint32_t *runs = arena_alloc(memory, n_bytes);

        if (!runs)
            return error_nomem(err, n_bytes, "a mask");
        if (n_bytes)
            memcpy(runs, annotation->runs, n_bytes);
        out->runs = runs;
        out->n_runs = annotation->n_runs;
    } else if (annotation->has_text) {
        out->n_text = annotation->text.n;
        out->text =
            arena_strndup(memory, str_text(&annotation->text), out->n_text);
        if (!out->text)
            return error_nomem(err, out->n_text, "a mask");
    }
    return ASSAY_OK;
}

/* ---- the whole -------------------------------------------------------- */

static enum assay_status read_area(struct coco_annotation *annotation,
                                   struct json_reader *reader,
                                   struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);

    if (st || token == JSON_NULL)
        return st;
    annotation->has_area = true;
    return coco_annotation_read_number(reader, token, &annotation->area, err);
}

/* 0 and 1, or false and true. */
static enum assay_status read_crowd(struct coco_annotation *annotation,
                                    struct json_reader *reader,
                                    struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);
    int64_t number = 0;

    if (!st && token == JSON_NUMBER && !json_int64(reader, &number))
        st = coco_refuse(reader, "iscrowd is 0 or 1", err);
    annotation->is_crowd = token == JSON_TRUE || number != 0;
    if (!st && (token == JSON_OBJECT_BEGIN || token == JSON_ARRAY_BEGIN))
        st = coco_refuse(reader, "iscrowd is 0 or 1", err);
    return st;
}

static enum assay_status
coco_annotation_read_member(struct coco_annotation *annotation,
                            struct json_reader *reader, bool wants_shape,
                            struct error *err)
{
    const char *key = json_text(reader, NULL);

    if (strcmp(key, "id") == 0)
        return coco_read_integer(reader, "an id is a whole number",
                                 &annotation->id, err);
    if (strcmp(key, "image_id") == 0) {
        annotation->has_image = true;
        return coco_read_integer(reader, "an id is a whole number",
                                 &annotation->image_id, err);
    }
    if (strcmp(key, "category_id") == 0) {
        annotation->has_category = true;
        return coco_read_integer(reader, "an id is a whole number",
                                 &annotation->category_id, err);
    }
    if (strcmp(key, "bbox") == 0)
        return coco_annotation_read_box(annotation, reader, err);
    if (strcmp(key, "area") == 0)
        return read_area(annotation, reader, err);
    if (strcmp(key, "iscrowd") == 0)
        return read_crowd(annotation, reader, err);
    if (strcmp(key, "segmentation") == 0 && wants_shape)
        return coco_annotation_read_shape(annotation, reader, err);
    return json_skip(reader, err);
}

enum assay_status coco_annotation_read(struct coco_annotation *annotation,
                                       struct json_reader *reader,
                                       bool wants_shape, struct error *err)
{
    enum json_token token;
    enum assay_status st = ASSAY_OK;

    clear(annotation);
    while (!st) {
        st = json_next(reader, &token, err);
        if (st || token == JSON_OBJECT_END)
            break;
        st = coco_annotation_read_member(annotation, reader, wants_shape, err);
    }
    if (!st && (!annotation->has_image || !annotation->has_category ||
                !annotation->has_box))
        st = coco_refuse(reader,
                         "an annotation without image_id, category_id or "
                         "bbox; a file of instances is wanted",
                         err);
    return st;
}
