/* data/coco_annotation_internal.h - one object of an annotation file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_COCO_ANNOTATION_INTERNAL_H
#define DATA_COCO_ANNOTATION_INTERNAL_H

#include "base/json.h"
#include "data/dataset_internal.h"

/* An annotation being read: its members come in any order, so its shape waits
 * here until the image is known. Start from {0}; the memory is reused for the
 * next one. */
struct coco_annotation {
    int64_t image_id, category_id;
    bool has_image, has_category, has_box, has_area, has_score, is_crowd;
    double box[4];
    double area;
    double score;    /* only in result files */
    double *numbers; /* of all polygons */
    size_t n_numbers, numbers_capacity;
    size_t *ends; /* of each polygon in numbers */
    size_t n_ends, ends_capacity;
    uint32_t *runs;
    size_t n_runs, runs_capacity;
    bool has_runs, has_text;
    struct str text;
};

void coco_annotation_release(struct coco_annotation *annotation);

/* Reads the object that was just begun. Skips its shape unless wanted. */
enum assay_status coco_annotation_read(struct coco_annotation *annotation,
                                       struct json_reader *reader,
                                       bool wants_shape, struct error *err);

/* The same for a detection in a result file, which has a score, and a box or a
 * shape. */
enum assay_status
coco_annotation_read_result(struct coco_annotation *annotation,
                            struct json_reader *reader, bool wants_shape,
                            struct error *err);

/* Copies the shape into the arena. */
enum assay_status
coco_annotation_shape(const struct coco_annotation *annotation,
                      struct arena *memory, struct dataset_shape *out,
                      struct error *err);

/* Reads the next item of the open list, or key of the open object; false at its
 * end, or on failure. */
bool coco_next(struct json_reader *reader, enum json_token *token,
               enum assay_status *st, struct error *err);
/* Reads an integer member after its key. what: for the message. */
enum assay_status coco_read_integer(struct json_reader *reader,
                                    const char *what, int64_t *out,
                                    struct error *err);
/* "line 3, column 14: WHAT". */
enum assay_status coco_refuse(const struct json_reader *reader,
                              const char *what, struct error *err);

#endif
