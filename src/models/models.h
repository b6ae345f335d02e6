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
enum { MODEL_MAX_IMAGES = 48 }; /* of a detector's batch */

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

enum {
    MODEL_BACKBONE_LAYERS = 5,   /* conv1 and four levels of blocks */
    MODEL_TRAINABLE_DEFAULT = -1 /* torchvision's: 3 where norms are frozen, as
                                    published weights have them, else all */
};

/* How a detector chooses what it learns from, of each image. */
struct model_sampling {
    int64_t proposals;      /* of a level, before overlapping ones go */
    int64_t kept_proposals; /* of all levels, after that */
    int64_t anchors;        /* the proposal network learns from */
    float anchor_objects;   /* share of them that are objects, at most */
    int64_t boxes;          /* the heads learn from */
    float box_objects;
};

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

    /* Of training. */
    bool is_training;
    int64_t trainable_layers; /* of a detector's backbone, from the last one */
    struct model_sampling sampling;
};

/* One image, 91 classes, 800 and 1333, frozen norm with eps 1e-5, 0.05, 100;
 * torchvision's sampling. */
struct model_options model_defaults(void);
/* The same with the classes and the size of a classifier where it is one. */
struct model_options model_options_for(const char *name,
                                       enum model_variant variant);

/* A detector has an input for each image, [3,h,w] with values from 0 to 1, and
 * gives in this order: boxes [d,4] in pixels of the photographs, scores [d],
 * labels [d], counts [n], and for Mask R-CNN the masks of each image. A
 * classifier has one input [n,3,h,w], normalised, and gives logits
 * [n,classes].
 *
 * In training there are more inputs behind the images, and losses come out,
 * float32 scalars to be added up. A detector takes "boxes" [t,4] of the objects
 * of all images in pixels of the photographs, "labels" int64 [t] from 1,
 * "counts" int64 [n], with masks "masks_0"... uint8 [t,h,w] of each image, and
 * "seed" int64 [1], from which all follows that is drawn at random; it gives
 * loss_classifier, loss_box_reg, loss_mask, loss_objectness, loss_rpn_box_reg.
 * A classifier takes "labels" int64 [n] and "seed", and gives "loss" beside its
 * logits; GoogLeNet learns without its auxiliary heads. New running statistics
 * of norms are outputs too, with the names of the buffers that they are to
 * replace. What torchvision does not train is frozen. */
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

/* Gives all parameters and buffers of `to` copies of what those of the same
 * name in `from` have: a model in training and the same one in use. One that
 * `from` has not, or without data, is ASSAY_BAD_INPUT. */
enum assay_status model_copy_weights(struct graph *to, const struct graph *from,
                                     struct pool *pool, struct error *err);

/* The 91 names of COCO's classes; "N/A" for numbers nobody uses. */
const char *model_coco_class(int64_t label);

#endif
