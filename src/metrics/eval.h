/* metrics/eval.h - scores the results of any detector, from files alone.
 *
 * Reads the annotations of a dataset and a result file in the format of that
 * dataset, and computes COCO's or Pascal VOC's figures. No model and no
 * photograph is needed.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_EVAL_H
#define METRICS_EVAL_H

#include "data/dataset.h"
#include "metrics/coco_map.h"
#include "metrics/voc_map.h"
#include "picture/sheet.h"

enum eval_kind { EVAL_COCO, EVAL_VOC };

struct eval_options {
    enum eval_kind kind;
    enum coco_overlap overlap; /* COCO's */
    double least_overlap;      /* VOC's */
    const char *annotations;   /* a file or a folder */
    const char *results;
    enum dataset_split split; /* of a folder with both */
};

/* One class. Only the figures of the kind are set. */
struct eval_class {
    const char *name;
    uint64_t n_objects; /* to be found: no crowds, none that are difficult */
    uint64_t n_found;   /* detections */
    struct coco_summary coco;
    struct voc_figures voc;
};

/* Start from {0}. */
struct eval {
    struct eval_options options; /* texts are borrowed from the caller */
    struct dataset *dataset;
    struct coco_map *coco;
    struct voc_map *voc;
    struct eval_class *classes; /* in the order of the dataset's labels */
    size_t n_classes;
    uint64_t n_images, n_objects, n_set_aside, n_found;
    /* Results of classes that the annotations do not have; they do not count.
     * left_out: what the first of them names. */
    uint64_t n_left_out;
    char left_out[160];
    struct coco_summary summary;
    double voc_11, voc_all; /* the means over classes with objects */
};

void eval_release(struct eval *eval);

enum assay_status eval_run(struct eval *eval,
                           const struct eval_options *options,
                           struct error *err);

/* Draws the curves of precision over recall: at each overlap for COCO, of each
 * class for VOC. class: its index; SIZE_MAX: the mean of all, and for VOC each
 * class. */
enum assay_status eval_plot(const struct eval *eval, size_t class,
                            enum sheet_format format, struct sink *sink,
                            struct error *err);

#endif
