/* models/models.h - the built-in models, as torchvision builds them.
 *
 * Names of modules and parameters, classes and numerics are torchvision's, so
 * that its checkpoints fit and its trees can be compared.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_MODELS_H
#define MODELS_MODELS_H

#include "graph/graph.h"

/* Sides of a batch are padded to multiples of this. */
enum { MODEL_SIZE_MULTIPLE = 32 };

enum model_norm {
    NORM_FROZEN, /* FrozenBatchNorm2d: what the published weights use */
    NORM_BATCH   /* BatchNorm2d: what torchvision makes without weights */
};

struct model_options {
    int64_t n_images;           /* of a batch */
    int64_t n_classes;          /* the background included */
    int64_t min_size, max_size; /* what photographs are resized to */
    enum model_norm norm;
    float norm_eps;
    float score;         /* detections below are dropped */
    int64_t detections;  /* at most, of an image */
    bool has_soft_masks; /* probabilities instead of 0 and 1 */
};

/* One image, 91 classes, 800 and 1333, frozen norm with eps 1e-5, 0.05, 100. */
struct model_options model_defaults(void);

/* Outputs of a detection model, in this order: boxes [d,4] in pixels of the
 * photographs, scores [d], labels [d], counts [n], and for Mask R-CNN the
 * masks of each image. */
enum assay_status model_build(const char *name,
                              const struct model_options *options,
                              struct graph **out, struct error *err);

/* The name a model goes by ("faster-rcnn" is fasterrcnn_resnet50_fpn), or NULL
 * where there is none. */
const char *model_full_name(const char *name);
/* All names that are understood, short ones too; NULL at the end. */
const char *const *model_names(void);

/* Fills what has no data yet with the initialisation of torchvision, the same
 * for a seed on every machine and with any number of threads. */
enum assay_status model_fill(struct graph *graph, struct pool *pool,
                             uint64_t seed, struct error *err);

/* The 91 names of COCO's classes; "N/A" for numbers nobody uses. */
const char *model_coco_class(int64_t label);

#endif
