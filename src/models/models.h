/* models/models.h - the built-in models.
 *
 * Names of modules and parameters, classes and numerics are torchvision's, so
 * that its checkpoints fit and its module trees can be compared.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_MODELS_H
#define MODELS_MODELS_H

#include "graph/graph.h"

/* A detector pads the sides of a batch to multiples of this. */
enum { MODEL_SIZE_MULTIPLE = 32 };
enum { MODEL_MAX_IMAGES = 48 }; /* in a detector's batch */

enum model_norm {
    NORM_FROZEN, /* FrozenBatchNorm2d, for the published weights */
    NORM_BATCH   /* BatchNorm2d, torchvision's choice without weights */
};

/* The images of a classifier. */
enum model_variant {
    MODEL_IMAGENET, /* 224x224, 1000 classes */
    MODEL_CIFAR10,  /* 32x32, 10 classes */
    MODEL_CIFAR100  /* 32x32, 100 classes */
};

enum model_task { TASK_DETECTION, TASK_CLASSIFICATION };

enum {
    MODEL_BACKBONE_LAYERS = 5,   /* conv1 and four levels of blocks */
    MODEL_TRAINABLE_DEFAULT = -1 /* torchvision's: 3 with frozen norms, as for
                                    published weights, else all */
};

/* What a detector learns from, per image. */
struct model_sampling {
    int64_t proposals;      /* per level, before overlapping ones are removed */
    int64_t kept_proposals; /* of all levels, after that */
    int64_t anchors;        /* for the proposal network */
    float anchor_objects;   /* largest fraction of them that are objects */
    int64_t boxes;          /* for the heads */
    float box_objects;
};

struct model_options {
    int64_t n_images;  /* in a batch; a classifier takes any number */
    int64_t n_classes; /* of a detector: including the background */

    /* For classifiers. */
    enum model_variant variant;
    int64_t image_size; /* of a side; not part of the graph */
    bool has_auxiliary; /* googlenet: the heads for training, never run */

    /* For detectors. */
    int64_t min_size, max_size; /* that photographs are resized to */
    enum model_norm norm;
    float norm_eps;
    float score;         /* detections below it are dropped */
    int64_t detections;  /* at most, per image */
    bool has_soft_masks; /* probabilities instead of 0 and 1 */

    /* For training. */
    bool is_training;
    int64_t trainable_layers; /* of a detector's backbone, from the last one */
    struct model_sampling sampling;
};

/* Torchvision's defaults for one image. */
struct model_options model_defaults(void);
/* The same with the classes and image size of a classifier if it is one. */
struct model_options model_options_for(const char *name,
                                       enum model_variant variant);

/* A detector's outputs, in this order. */
enum detector_output {
    DETECTOR_BOXES,
    DETECTOR_SCORES,
    DETECTOR_LABELS,
    DETECTOR_COUNTS,
    DETECTOR_MASKS /* the first of them */
};

/* A detector has one input per image, [3,h,w] with values from 0 to 1. Its
 * outputs are boxes [d,4] in pixels of the photographs, scores [d], labels [d],
 * counts [n], and for Mask R-CNN the masks of each image. A classifier has one
 * input [n,3,h,w], normalized, and the output logits [n,classes].
 *
 * For training there are more inputs after the images, and the outputs are
 * losses, float32 scalars to be added. A detector also takes "boxes" [t,4] of
 * the objects of all images in pixels of the photographs, "labels" int64 [t]
 * from 1, "counts" int64 [n], with masks "masks_0"... uint8 [t,h,w] per image,
 * and "seed" int64 [1] for all random choices; its outputs are loss_classifier,
 * loss_box_reg, loss_mask, loss_objectness, loss_rpn_box_reg. A classifier also
 * takes "labels" int64 [n] and "seed", and has "loss" next to its logits;
 * GoogLeNet trains without its auxiliary heads. New running statistics of norms
 * are outputs too, named after the buffers they replace. What torchvision does
 * not train is frozen. */
enum assay_status model_build(const char *name,
                              const struct model_options *options,
                              struct graph **out, struct error *err);

/* The full name of a model (fasterrcnn_resnet50_fpn for "faster-rcnn"), or NULL
 * if there is none. */
const char *model_full_name(const char *name);
/* name: of an existing model. */
enum model_task model_task(const char *name);
/* All names, including short ones; NULL at the end. */
const char *const *model_names(void);

/* Fills what has no data yet with torchvision's initialization. The same seed
 * gives the same values on every machine, with any number of threads. */
enum assay_status model_fill(struct graph *graph, struct pool *pool,
                             uint64_t seed, struct error *err);

/* Copies the data of `from` to the parameters and buffers of the same name in
 * `to`, such as from a model in training to the same model for inference.
 * ASSAY_BAD_INPUT if `from` lacks one or its data. */
enum assay_status model_copy_weights(struct graph *to, const struct graph *from,
                                     struct pool *pool, struct error *err);

/* The name of one of COCO's 91 classes; "N/A" for unused numbers. */
const char *model_coco_class(int64_t label);

#endif
