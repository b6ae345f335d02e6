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
    annotation->has_image = annotation->has_category = false;
    annotation->has_box = annotation->has_area = annotation->is_crowd = false;
    annotation->has_score = false;
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

bool coco_next(struct json_reader *reader, enum json_token *token,
               enum assay_status *st, struct error *err)
{
    if (!*st)
        *st = json_next(reader, token, err);
    return !*st && *token != JSON_ARRAY_END && *token != JSON_OBJECT_END;
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

static enum assay_status read_coordinate(struct json_reader *reader,
                                         enum json_token token, double *out,
                                         struct error *err)
{
    *out = token == JSON_NUMBER ? json_double(reader) : NAN;
    return isfinite(*out) ? ASSAY_OK
                          : coco_refuse(reader, "expected a number", err);
}

static enum assay_status read_bbox(struct coco_annotation *annotation,
                                   struct json_reader *reader,
                                   struct error *err)
{
    static const char four[] = "a box must be a list of four numbers";
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);
    size_t n = 0;

    if (!st && token != JSON_ARRAY_BEGIN)
        return coco_refuse(reader, four, err);
    while (coco_next(reader, &token, &st, err)) {
        if (n == 4)
            return coco_refuse(reader, four, err);
        st = read_coordinate(reader, token, &annotation->box[n++], err);
    }
    if (!st && n != 4)
        st = coco_refuse(reader, four, err);
    annotation->has_box = !st;
    return st;
}

/* ---- its shape -------------------------------------------------------- */

static enum assay_status read_polygon(struct coco_annotation *annotation,
                                      struct json_reader *reader,
                                      struct error *err)
{
    size_t before = annotation->n_numbers;
    enum json_token token;
    enum assay_status st = ASSAY_OK;
    void *moved;

    while (coco_next(reader, &token, &st, err)) {
        moved =
            vec_reserve(annotation->numbers, &annotation->numbers_capacity,
                        annotation->n_numbers + 1, sizeof *annotation->numbers);
        if (!moved)
            return error_nomem(err, sizeof *annotation->numbers, "a polygon");
        annotation->numbers = moved;
        st = read_coordinate(
            reader, token, &annotation->numbers[annotation->n_numbers++], err);
    }
    if (st)
        return st;
    if ((annotation->n_numbers - before) % 2)
        return coco_refuse(reader, "a polygon has an odd number of coordinates",
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

    while (coco_next(reader, &token, &st, err))
        st = token == JSON_ARRAY_BEGIN
                 ? read_polygon(annotation, reader, err)
                 : coco_refuse(reader, "a polygon must be a list of numbers",
                               err);
    return st;
}

static enum assay_status read_runs(struct coco_annotation *annotation,
                                   struct json_reader *reader,
                                   struct error *err)
{
    enum json_token token;
    enum assay_status st = ASSAY_OK;

    annotation->has_runs = true;
    while (coco_next(reader, &token, &st, err)) {
        int64_t run;
        void *moved;

        if (token != JSON_NUMBER || !json_int64(reader, &run) || run < 0 ||
            run > UINT32_MAX)
            return coco_refuse(reader, "a run of pixels must be a whole number",
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

static enum assay_status read_mask_runs(struct coco_annotation *annotation,
                                        struct json_reader *reader,
                                        struct error *err)
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
        return coco_refuse(
            reader, "the runs of a mask must be a list or a string", err);
    text = json_text(reader, &n);
    annotation->has_text = true;
    str_clear(&annotation->text);
    return str_append_n(&annotation->text, text, n)
               ? error_nomem(err, n, "a mask")
               : ASSAY_OK;
}

/* In {"counts", "size"} the size is that of the image. */
static enum assay_status read_mask(struct coco_annotation *annotation,
                                   struct json_reader *reader,
                                   struct error *err)
{
    enum json_token token;
    enum assay_status st = ASSAY_OK;

    while (coco_next(reader, &token, &st, err))
        st = strcmp(json_text(reader, NULL), "counts") == 0
                 ? read_mask_runs(annotation, reader, err)
                 : json_skip(reader, err);
    return st;
}

static enum assay_status read_segmentation(struct coco_annotation *annotation,
                                           struct json_reader *reader,
                                           struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);

    if (st || token == JSON_NULL)
        return st;
    if (token == JSON_ARRAY_BEGIN)
        return read_polygons(annotation, reader, err);
    if (token == JSON_OBJECT_BEGIN)
        return read_mask(annotation, reader, err);
    return coco_refuse(reader, "a segmentation must be polygons or runs", err);
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
    return read_coordinate(reader, token, &annotation->area, err);
}

/* Python writes scores that are not numbers as NaN, which is not JSON. */
static enum assay_status read_score(struct coco_annotation *annotation,
                                    struct json_reader *reader,
                                    struct error *err)
{
    enum json_token token;
    enum assay_status st = json_next(reader, &token, err);

    if (st) {
        error_hint(err, "a score must be a finite number");
        return st;
    }
    annotation->has_score = true;
    annotation->score = token == JSON_NUMBER ? json_double(reader) : NAN;
    return isfinite(annotation->score)
               ? ASSAY_OK
               : coco_refuse(reader, "a score must be a finite number", err);
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
        st = coco_refuse(reader, "iscrowd must be 0 or 1", err);
    annotation->is_crowd = token == JSON_TRUE || number != 0;
    if (!st && (token == JSON_OBJECT_BEGIN || token == JSON_ARRAY_BEGIN))
        st = coco_refuse(reader, "iscrowd must be 0 or 1", err);
    return st;
}

static enum assay_status read_member(struct coco_annotation *annotation,
                                     struct json_reader *reader,
                                     bool wants_shape, bool is_result,
                                     struct error *err)
{
    const char *key = json_text(reader, NULL);
    int64_t id; /* only checked */
    bool has_id;
    const struct {
        const char *key;
        int64_t *out;
        bool *has;
    } ids[] = {
        {"id", &id, &has_id},
        {"image_id", &annotation->image_id, &annotation->has_image},
        {"category_id", &annotation->category_id, &annotation->has_category},
    };

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (strcmp(key, ids[i].key) != 0)
            continue;
        *ids[i].has = true;
        return coco_read_integer(reader, "an id must be a whole number",
                                 ids[i].out, err);
    }
    if (strcmp(key, "bbox") == 0)
        return read_bbox(annotation, reader, err);
    if (strcmp(key, "area") == 0)
        return read_area(annotation, reader, err);
    if (strcmp(key, "iscrowd") == 0)
        return read_crowd(annotation, reader, err);
    if (strcmp(key, "score") == 0 && is_result)
        return read_score(annotation, reader, err);
    if (strcmp(key, "segmentation") == 0 && wants_shape)
        return read_segmentation(annotation, reader, err);
    return json_skip(reader, err);
}

static enum assay_status read_members(struct coco_annotation *annotation,
                                      struct json_reader *reader,
                                      bool wants_shape, bool is_result,
                                      struct error *err)
{
    enum json_token token;
    enum assay_status st = ASSAY_OK;

    clear(annotation);
    while (coco_next(reader, &token, &st, err))
        st = read_member(annotation, reader, wants_shape, is_result, err);
    return st;
}

enum assay_status coco_annotation_read(struct coco_annotation *annotation,
                                       struct json_reader *reader,
                                       bool wants_shape, struct error *err)
{
    enum assay_status st =
        read_members(annotation, reader, wants_shape, false, err);

    if (!st && (!annotation->has_image || !annotation->has_category ||
                !annotation->has_box))
        st = coco_refuse(reader,
                         "an annotation without image_id, category_id or bbox; "
                         "use a file of instances",
                         err);
    if (!st && (annotation->box[2] < 0 || annotation->box[3] < 0))
        st = coco_refuse(reader, "the size of a box is below 0", err);
    return st;
}

/* Whether it has polygons or runs. */
static bool coco_annotation_has_shape(const struct coco_annotation *annotation)
{
    return annotation->n_ends || annotation->has_runs || annotation->has_text;
}

enum assay_status
coco_annotation_read_result(struct coco_annotation *annotation,
                            struct json_reader *reader, bool wants_shape,
                            struct error *err)
{
    enum assay_status st =
        read_members(annotation, reader, wants_shape, true, err);

    if (!st && (!annotation->has_image || !annotation->has_category ||
                !annotation->has_score))
        st = coco_refuse(
            reader, "a result without image_id, category_id or score", err);
    if (!st && !annotation->has_box && !coco_annotation_has_shape(annotation))
        st = coco_refuse(reader, "a result without bbox or segmentation", err);
    return st;
}
