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

/* Classifiers for other images than ImageNet's. */
enum model_variant {
    MODEL_IMAGENET, /* 224x224, 1000 classes */
    MODEL_CIFAR10,  /* 32x32, 10 classes */
    MODEL_CIFAR100  /* 32x32, 100 classes */
};

enum model_task { TASK_DETECTION, TASK_CLASSIFICATION };

struct model_options {
    int64_t n_images;  /* of a batch; a classifier takes any number */
    int64_t n_classes; /* of a detector: the background included */

    /* Of classifiers. */
    enum model_variant variant;
    int64_t image_size; /* of a side; not a part of the graph */
    bool has_auxiliary; /* googlenet: the heads for training, never run */

    /* Of detectors. */
    int64_t min_size, max_size; /* what photographs are resized to */
    enum model_norm norm;
    float norm_eps;
    float score;         /* detections below are dropped */
    int64_t detections;  /* at most, of an image */
    bool has_soft_masks; /* probabilities instead of 0 and 1 */
};

/* One image, 91 classes, 800 and 1333, frozen norm with eps 1e-5, 0.05, 100. */
struct model_options model_defaults(void);
/* The same with the classes and the size of a classifier where it is one. */
struct model_options model_options_for(const char *name,
                                       enum model_variant variant);

/* A detector has an input for each image, [3,h,w] with values from 0 to 1, and
 * gives in this order: boxes [d,4] in pixels of the photographs, scores [d],
 * labels [d], counts [n], and for Mask R-CNN the masks of each image. A
 * classifier has one input [n,3,h,w], normalised, and gives logits
 * [n,classes]. */
enum assay_status model_build(const char *name,
                              const struct model_options *options,
                              struct graph **out, struct error *err);

/* The name a model goes by ("faster-rcnn" is fasterrcnn_resnet50_fpn), or NULL
 * where there is none. */
const char *model_full_name(const char *name);
/* Of a model that there is. */
enum model_task model_task(const char *name);
/* All names that are understood, short ones too; NULL at the end. */
const char *const *model_names(void);

/* Fills what has no data yet with the initialisation of torchvision, the same
 * for a seed on every machine and with any number of threads. */
enum assay_status model_fill(struct graph *graph, struct pool *pool,
                             uint64_t seed, struct error *err);

/* The 91 names of COCO's classes; "N/A" for numbers nobody uses. */
const char *model_coco_class(int64_t label);

#endif
