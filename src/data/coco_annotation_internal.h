/* data/coco_annotation_internal.h - one object of an annotation file.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_COCO_ANNOTATION_INTERNAL_H
#define DATA_COCO_ANNOTATION_INTERNAL_H

#include "base/json.h"
#include "data/dataset_internal.h"

/* One annotation while it is read: its parts come in any order, so what it
 * covers waits here until the image is known. Start from {0}; the memory is
 * used again for the next. */
struct coco_annotation {
    int64_t id, image_id, category_id;
    bool has_image, has_category, has_box, has_area, is_crowd;
    double box[4];
    double area;
    double *numbers; /* of all polygons */
    size_t n_numbers, numbers_capacity;
    size_t *ends; /* of each polygon in them */
    size_t n_ends, ends_capacity;
    uint32_t *runs;
    size_t n_runs, runs_capacity;
    bool has_runs, has_text;
    struct str text;
};

void coco_annotation_release(struct coco_annotation *annotation);

/* Reads the object whose beginning was just read. What it covers is passed
 * over unless wanted. */
enum assay_status coco_annotation_read(struct coco_annotation *annotation,
                                       struct json_reader *reader,
                                       bool wants_shape, struct error *err);

/* Copies what it covers into the arena. */
enum assay_status
coco_annotation_shape(const struct coco_annotation *annotation,
                      struct arena *memory, struct dataset_shape *out,
                      struct error *err);

/* An integer member whose key was just read. what: for the message. */
enum assay_status coco_read_integer(struct json_reader *reader,
                                    const char *what, int64_t *out,
                                    struct error *err);
/* "line 3, column 14: WHAT". */
enum assay_status coco_refuse(const struct json_reader *reader,
                              const char *what, struct error *err);

#endif
