/* data/detections.h - result files: what a detector found in the images of a
 * dataset.
 *
 * Results are matched with the dataset's images and classes when they are read,
 * and come out image by image, in the order of the files.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DATA_DETECTIONS_H
#define DATA_DETECTIONS_H

#include "base/arena.h"
#include "data/coco_read.h"
#include "data/dataset.h"

struct detection {
    size_t image;                 /* of the dataset */
    size_t number;                /* in the files, from 0 */
    double score;                 /* finite */
    struct dataset_object object; /* its label, box and shape; no size that is
                                     below 0 in VOC's files */
    bool has_box;                 /* otherwise it has a shape */
};

/* Start from {0}. */
struct detections {
    struct detection *items;
    size_t n, capacity;
    bool has_boxes; /* the first of the file has one */
    /* Results of classes that the dataset does not have; they are not among the
     * items. */
    size_t n_left_out;
    const char *left_out; /* what the first of them names: "category 91" */
    struct arena memory;
};

void detections_release(struct detections *detections);

/* A JSON file in COCO's format for results: [{"image_id", "category_id",
 * "score", "bbox" and/or "segmentation"}, ...]. keeps_shapes: otherwise shapes
 * are kept only of results without a box. ASSAY_BAD_INPUT for an image that the
 * dataset does not have, for a score that is not a number, and if there is
 * nothing to evaluate. */
enum assay_status coco_results_read(const struct dataset *dataset,
                                    const struct coco_source *source,
                                    bool keeps_shapes, struct detections *out,
                                    struct error *err);

/* A file in Pascal VOC's format, "IMAGE SCORE XMIN YMIN XMAX YMAX" per line,
 * whose name ends in the class (comp4_det_test_dog.txt), or a folder of such
 * files. */
enum assay_status voc_results_read(const struct dataset *dataset,
                                   const char *path, struct detections *out,
                                   struct error *err);

/* The lines of one such file. name: for messages. Call detections_settle()
 * after the last one. */
enum assay_status voc_results_read_text(const struct dataset *dataset,
                                        const char *text, size_t n,
                                        size_t label, const char *name,
                                        struct detections *out,
                                        struct error *err);
/* Sorts the items by image. */
void detections_settle(struct detections *detections);

#endif
