/* models/rcnn_training.c - the parts of Faster and Mask R-CNN for training:
 * targets, samples and losses, with the thresholds of torchvision 0.14. */
#include "models/rcnn_internal.h"

#include "ops/detection/anchor_match.h"
#include "ops/detection/anchor_sample.h"
#include "ops/detection/detection_targets.h"
#include "ops/detection/mask_targets.h"
#include "ops/detection/roi_positives.h"
#include "ops/detection/roi_sample.h"
#include "ops/loss/box_loss.h"
#include "ops/loss/loss.h"
#include "ops/loss/mask_loss.h"
#include "ops/loss/rpn_loss.h"
#include "ops/ops.h"
#include "passes/train_pass.h"

#include <stdio.h>
#include <string.h>

/* Where the smooth L1 loss of boxes becomes linear. */
static const float beta = 1.0f / 9;

/* Side of the mask head's output. */
enum { mask_size = 28 };

void rcnn_training_inputs(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    struct rcnn_targets *targets = &rcnn->targets;
    size_t n = (size_t)rcnn->options->n_images;

    targets->boxes = builder_input(builder, "boxes");
    targets->labels = builder_input_of(builder, "labels", DTYPE_I64);
    targets->counts = builder_input_of(builder, "counts", DTYPE_I64);
    for (size_t i = 0; rcnn->has_masks && i < n; i++) {
        char name[32];

        snprintf(name, sizeof name, "masks_%zu", i);
        targets->masks[i] = builder_input_of(builder, name, DTYPE_U8);
    }
    targets->seed = builder_input_of(builder, "seed", DTYPE_I64);
}

void rcnn_training_targets(struct rcnn *rcnn)
{
    struct rcnn_targets *targets = &rcnn->targets;
    struct detection_targets_attrs attrs = {.n_classes =
                                                rcnn->options->n_classes};
    uint32_t inputs[DETECTION_TARGETS_INPUTS] = {
        [DETECTION_TARGETS_BOXES] = targets->boxes,
        [DETECTION_TARGETS_LABELS] = targets->labels,
        [DETECTION_TARGETS_COUNTS] = targets->counts,
        [DETECTION_TARGETS_SIZES] = rcnn->images[TRANSFORM_SIZES],
        [DETECTION_TARGETS_ORIGINAL] = rcnn->images[TRANSFORM_ORIGINAL],
    };

    targets->boxes =
        builder_op(&rcnn->builder, "targets", &op_detection_targets, &attrs,
                   inputs, DETECTION_TARGETS_INPUTS);
}

static void add_rpn_loss(struct rcnn *rcnn,
                         const uint32_t samples[ANCHOR_SAMPLE_OUTPUTS])
{
    struct rpn_loss_attrs attrs = {.beta = beta};
    uint32_t inputs[RPN_LOSS_MAPS + 2 * RCNN_LEVELS] = {
        [RPN_LOSS_CHOSEN] = samples[ANCHOR_SAMPLE_CHOSEN],
        [RPN_LOSS_LABELS] = samples[ANCHOR_SAMPLE_LABELS],
        [RPN_LOSS_TARGETS] = samples[ANCHOR_SAMPLE_DELTAS],
    };
    uint32_t losses[RPN_LOSS_OUTPUTS];

    for (int level = 0; level < RCNN_LEVELS; level++) {
        inputs[RPN_LOSS_MAPS + level] = rcnn->objectness[level];
        inputs[RPN_LOSS_MAPS + RCNN_LEVELS + level] = rcnn->deltas[level];
    }
    builder_op_outputs(&rcnn->builder, "compute_loss", &op_rpn_loss, &attrs,
                       inputs, RPN_LOSS_MAPS + 2 * RCNN_LEVELS, losses,
                       RPN_LOSS_OUTPUTS);
    builder_output(&rcnn->builder, "loss_objectness",
                   losses[RPN_LOSS_OBJECTNESS]);
    builder_output(&rcnn->builder, "loss_rpn_box_reg", losses[RPN_LOSS_BOXES]);
}

void rcnn_training_anchors(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    const struct rcnn_targets *targets = &rcnn->targets;
    const struct model_sampling *sampling = &rcnn->options->sampling;
    struct anchor_match_attrs match = {
        .rule = {.high = 0.7f, .low = 0.3f, .keeps_best = true}};
    struct anchor_sample_attrs sample = {
        .rule = {.n = sampling->anchors, .share = sampling->anchor_objects}};
    uint32_t samples[ANCHOR_SAMPLE_OUTPUTS], matches;

    matches = builder_op(builder, "assign_targets_to_anchors", &op_anchor_match,
                         &match,
                         (uint32_t[]){[ANCHOR_MATCH_ANCHORS] = rcnn->anchors,
                                      [ANCHOR_MATCH_BOXES] = targets->boxes,
                                      [ANCHOR_MATCH_COUNTS] = targets->counts},
                         ANCHOR_MATCH_INPUTS);
    builder_op_outputs(builder, "fg_bg_sampler", &op_anchor_sample, &sample,
                       (uint32_t[]){[ANCHOR_SAMPLE_MATCHES] = matches,
                                    [ANCHOR_SAMPLE_ANCHORS] = rcnn->anchors,
                                    [ANCHOR_SAMPLE_BOXES] = targets->boxes,
                                    [ANCHOR_SAMPLE_SEED] = targets->seed},
                       ANCHOR_SAMPLE_INPUTS, samples, ANCHOR_SAMPLE_OUTPUTS);
    add_rpn_loss(rcnn, samples);
}

void rcnn_training_samples(struct rcnn *rcnn)
{
    struct rcnn_targets *targets = &rcnn->targets;
    const struct model_sampling *sampling = &rcnn->options->sampling;
    struct roi_sample_attrs attrs = {
        .match = {.high = 0.5f, .low = 0.5f},
        .sample = {.n = sampling->boxes, .share = sampling->box_objects},
    };
    uint32_t inputs[ROI_SAMPLE_INPUTS] = {
        [ROI_SAMPLE_PROPOSALS] = rcnn->proposals[RPN_NMS_PROPOSALS],
        [ROI_SAMPLE_COUNTS] = rcnn->proposals[RPN_NMS_KEPT],
        [ROI_SAMPLE_OBJECT_BOXES] = targets->boxes,
        [ROI_SAMPLE_OBJECT_LABELS] = targets->labels,
        [ROI_SAMPLE_OBJECT_COUNTS] = targets->counts,
        [ROI_SAMPLE_SEED] = targets->seed,
    };
    uint32_t made[ROI_SAMPLE_OUTPUTS];

    memcpy(attrs.weights, rcnn_box_weights, sizeof attrs.weights);
    builder_op_outputs(&rcnn->builder, "select_training_samples",
                       &op_roi_sample, &attrs, inputs, ROI_SAMPLE_INPUTS, made,
                       ROI_SAMPLE_OUTPUTS);
    targets->sampled =
        (struct rcnn_boxes){made[ROI_SAMPLE_BOXES], made[ROI_SAMPLE_KEPT]};
    targets->sampled_labels = made[ROI_SAMPLE_LABELS];
    targets->sampled_objects = made[ROI_SAMPLE_OBJECTS];
    targets->sampled_deltas = made[ROI_SAMPLE_DELTAS];
}

void rcnn_training_boxes(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    const struct rcnn_targets *targets = &rcnn->targets;
    struct loss_attrs entropy = {.reduction = LOSS_MEAN};
    struct box_loss_attrs boxes = {.beta = beta};
    uint32_t loss;

    loss = builder_op(
        builder, "loss_classifier", &op_softmax_cross_entropy_loss, &entropy,
        (uint32_t[]){rcnn->class_logits, targets->sampled_labels}, 2);
    builder_output(builder, "loss_classifier", loss);
    loss =
        builder_op(builder, "loss_box_reg", &op_box_loss, &boxes,
                   (uint32_t[]){[BOX_LOSS_DELTAS] = rcnn->box_deltas,
                                [BOX_LOSS_LABELS] = targets->sampled_labels,
                                [BOX_LOSS_TARGETS] = targets->sampled_deltas},
                   BOX_LOSS_INPUTS);
    builder_output(builder, "loss_box_reg", loss);
}

void rcnn_training_positives(struct rcnn *rcnn)
{
    struct rcnn_targets *targets = &rcnn->targets;
    uint32_t made[ROI_POSITIVES_PARTS];

    builder_op_outputs(
        &rcnn->builder, "positives", &op_roi_positives, NULL,
        (uint32_t[]){[ROI_POSITIVES_BOXES] = targets->sampled.boxes,
                     [ROI_POSITIVES_COUNTS] = targets->sampled.counts,
                     [ROI_POSITIVES_LABELS] = targets->sampled_labels,
                     [ROI_POSITIVES_OBJECTS] = targets->sampled_objects},
        ROI_POSITIVES_PARTS, made, ROI_POSITIVES_PARTS);
    targets->positive = (struct rcnn_boxes){made[ROI_POSITIVES_BOXES],
                                            made[ROI_POSITIVES_COUNTS]};
    targets->positive_labels = made[ROI_POSITIVES_LABELS];
    targets->positive_objects = made[ROI_POSITIVES_OBJECTS];
}

void rcnn_training_masks(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    const struct rcnn_targets *targets = &rcnn->targets;
    struct mask_targets_attrs attrs = {.size = mask_size};
    uint32_t inputs[MASK_TARGETS_MASKS + RCNN_MAX_IMAGES] = {
        [MASK_TARGETS_BOXES] = targets->positive.boxes,
        [MASK_TARGETS_COUNTS] = targets->positive.counts,
        [MASK_TARGETS_OBJECTS] = targets->positive_objects,
        [MASK_TARGETS_SIZES] = rcnn->images[TRANSFORM_SIZES],
    };
    size_t n = (size_t)rcnn->options->n_images;
    uint32_t wanted, loss;

    for (size_t i = 0; i < n; i++)
        inputs[MASK_TARGETS_MASKS + i] = targets->masks[i];
    wanted = builder_op(builder, "project_masks_on_boxes", &op_mask_targets,
                        &attrs, inputs, MASK_TARGETS_MASKS + n);
    loss =
        builder_op(builder, "loss_mask", &op_mask_loss, NULL,
                   (uint32_t[]){[MASK_LOSS_LOGITS] = rcnn->mask_logits,
                                [MASK_LOSS_LABELS] = targets->positive_labels,
                                [MASK_LOSS_TARGETS] = wanted},
                   MASK_LOSS_INPUTS);
    builder_output(builder, "loss_mask", loss);
}

void rcnn_training_norms(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;

    if (!builder->st && builder->norm == NORM_BATCH)
        builder->st = graph_train_norms(builder->graph, builder->err);
}

/* Whether torchvision trains this tensor of the backbone's body if it trains
 * the last n_layers layers. */
static bool rcnn_training_is_trained(const char *name, int64_t n_layers)
{
    static const char *const layers[] = {"layer4.", "layer3.", "layer2.",
                                         "layer1.", "conv1.",  "bn1."};
    int64_t n = n_layers == MODEL_BACKBONE_LAYERS ? n_layers + 1 : n_layers;

    for (int64_t i = 0; i < n; i++) {
        if (strncmp(name, layers[i], strlen(layers[i])) == 0)
            return true;
    }
    return false;
}

void rcnn_training_freeze(struct rcnn *rcnn)
{
    static const char body[] = "backbone.body.";
    struct builder *builder = &rcnn->builder;
    int64_t n = rcnn->options->trainable_layers;

    if (n == MODEL_TRAINABLE_DEFAULT)
        n = builder->norm == NORM_FROZEN ? 3 : MODEL_BACKBONE_LAYERS;
    for (uint32_t i = 0; !builder->st && i < graph_value_count(builder->graph);
         i++) {
        const struct value *value = graph_value(builder->graph, i);

        if (value->kind == VALUE_PARAMETER &&
            strncmp(value->name, body, sizeof body - 1) == 0 &&
            !rcnn_training_is_trained(value->name + sizeof body - 1, n))
            graph_freeze(builder->graph, i);
    }
}
