/* models/rcnn_internal.h - the state of a detector while it is built; for
 * rcnn.c and rcnn_training.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MODELS_RCNN_INTERNAL_H
#define MODELS_RCNN_INTERNAL_H

#include "models/builder_internal.h"
#include "models/resnet_internal.h"
#include "ops/detection/box_detections.h"
#include "ops/detection/detection_transform.h"
#include "ops/detection/rpn_nms.h"

enum {
    RCNN_LEVELS = RESNET_LEVELS + 1, /* the extra one is the coarsest */
    RCNN_MAX_IMAGES = MODEL_MAX_IMAGES
};

/* The boxes that a head works on: proposals or detections. */
struct rcnn_boxes {
    uint32_t boxes, counts;
};

/* Training targets. */
struct rcnn_targets {
    uint32_t boxes; /* in pixels of the resized images */
    uint32_t labels, counts, seed;
    uint32_t masks[RCNN_MAX_IMAGES];
    /* The sampled proposals. */
    struct rcnn_boxes sampled;
    uint32_t sampled_labels, sampled_objects, sampled_deltas;
    /* Those of them that are objects. */
    struct rcnn_boxes positive;
    uint32_t positive_labels, positive_objects;
};

struct rcnn {
    struct builder builder;
    const struct model_options *options;
    int depth; /* of the backbone */
    bool has_masks;
    uint32_t images[TRANSFORM_OUTPUTS];
    uint32_t features[RCNN_LEVELS];
    uint32_t anchors, objectness[RCNN_LEVELS], deltas[RCNN_LEVELS];
    uint32_t proposals[RPN_NMS_OUTPUTS];
    uint32_t class_logits, box_deltas, mask_logits;
    uint32_t detections[BOX_DETECTIONS_OUTPUTS];
    uint32_t masks;
    struct rcnn_targets targets;
};

/* The heads' deltas are scaled by these, compared with those of anchors. */
extern const float rcnn_box_weights[4];

/* The parts for training, in the order in which they are built, each in
 * torchvision's module: the model, rpn, roi_heads, and the model again. */
void rcnn_training_inputs(struct rcnn *rcnn);
void rcnn_training_targets(struct rcnn *rcnn); /* after the transform */
void rcnn_training_anchors(struct rcnn *rcnn); /* after the RPN's head */
void rcnn_training_samples(struct rcnn *rcnn);
void rcnn_training_boxes(struct rcnn *rcnn); /* after the box predictor */
void rcnn_training_positives(struct rcnn *rcnn);
void rcnn_training_masks(struct rcnn *rcnn); /* after the mask predictor */
void rcnn_training_norms(struct rcnn *rcnn);
void rcnn_training_freeze(struct rcnn *rcnn);

#endif
