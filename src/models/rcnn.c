/* models/rcnn.c - Faster R-CNN and Mask R-CNN with a feature pyramid (Ren et
 * al. 2015, He et al. 2017, Lin et al. 2016), as in torchvision 0.14. */
#include "models/rcnn_internal.h"

#include "models/family_internal.h"
#include "ops/detection/anchor_grid.h"
#include "ops/detection/mask_ops.h"
#include "ops/detection/roi_align.h"
#include "ops/detection/rpn_decode.h"
#include "ops/detection/rpn_top_k.h"
#include "ops/ops.h"

#include <stdio.h>
#include <string.h>

enum {
    channels = 256, /* of every level of the pyramid */
    n_ratios = 3,
    hidden = 1024 /* of the box head */
};

const float rcnn_box_weights[4] = {10, 10, 5, 5};

static void rcnn_build_transform(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    struct detection_transform_attrs attrs = {
        .min_size = rcnn->options->min_size,
        .max_size = rcnn->options->max_size,
        .size_divisible = MODEL_SIZE_MULTIPLE,
        .mean = {0.485f, 0.456f, 0.406f},
        .std = {0.229f, 0.224f, 0.225f},
    };
    uint32_t inputs[RCNN_MAX_IMAGES];
    size_t n = (size_t)rcnn->options->n_images;

    for (size_t i = 0; i < n; i++) {
        char name[32];

        snprintf(name, sizeof name, "image_%zu", i);
        inputs[i] = builder_input(builder, name);
    }
    if (rcnn->options->is_training)
        rcnn_training_inputs(rcnn);
    builder_enter(builder, "transform", "GeneralizedRCNNTransform");
    builder_op_outputs(builder, "", &op_detection_transform, &attrs, inputs, n,
                       rcnn->images, TRANSFORM_OUTPUTS);
    if (rcnn->options->is_training)
        rcnn_training_targets(rcnn);
    builder_leave(builder);
}

/* A convolution in torchvision's Conv2dNormActivation. */
static uint32_t wrapped_conv(struct builder *builder, int index,
                             const struct conv_layer *layer, bool has_relu,
                             uint32_t x)
{
    builder_enter_index(builder, index, "Conv2dNormActivation");
    x = builder_conv(builder, "0", layer, x);
    if (has_relu)
        x = builder_relu(builder, "1", x);
    builder_leave(builder);
    return x;
}

static uint32_t pyramid_conv(struct builder *builder, const char *list,
                             int level, int64_t in, int64_t kernel, uint32_t x)
{
    struct conv_layer layer = {.in = in,
                               .out = channels,
                               .kernel = kernel,
                               .stride = 1,
                               .padding = kernel / 2,
                               .has_bias = true,
                               .fill = WEIGHT_KAIMING_UNIFORM};

    builder_enter_container(builder, list, "ModuleList");
    x = wrapped_conv(builder, level, &layer, false, x);
    builder_leave(builder);
    return x;
}

/* From the coarsest level down: each adds the level above, enlarged. */
static void rcnn_build_pyramid(struct rcnn *rcnn,
                               const uint32_t body[RESNET_LEVELS])
{
    static const struct pool_layer coarser = {.kernel = 1, .stride = 2};
    struct builder *builder = &rcnn->builder;
    uint32_t above = GRAPH_NONE;

    builder_enter(builder, "fpn", "FeaturePyramidNetwork");
    for (int level = RESNET_LEVELS - 1; level >= 0; level--) {
        int64_t in = resnet_channels(rcnn->depth) << level;
        uint32_t sum[2];

        sum[0] =
            pyramid_conv(builder, "inner_blocks", level, in, 1, body[level]);
        if (above != GRAPH_NONE) {
            uint32_t stretch[2] = {above, sum[0]};

            sum[1] = builder_op(builder, "interpolate", &op_resize_nearest,
                                NULL, stretch, 2);
            sum[0] = builder_op(builder, "add", &op_add, NULL, sum, 2);
        }
        above = sum[0];
        rcnn->features[level] =
            pyramid_conv(builder, "layer_blocks", level, channels, 3, above);
    }
    rcnn->features[RCNN_LEVELS - 1] =
        builder_max_pool(builder, "extra_blocks", "LastLevelMaxPool", &coarser,
                         rcnn->features[RCNN_LEVELS - 2]);
    builder_leave(builder);
}

static void rcnn_build_backbone(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    uint32_t body[RESNET_LEVELS];

    builder_enter(builder, "backbone", "BackboneWithFPN");
    builder_enter(builder, "body", "IntermediateLayerGetter");
    resnet_body(builder, rcnn->depth, false, rcnn->images[TRANSFORM_BATCH],
                body);
    builder_leave(builder);
    rcnn_build_pyramid(rcnn, body);
    builder_leave(builder);
}

static struct conv_layer head_conv(int64_t out, int64_t kernel)
{
    return (struct conv_layer){.in = channels,
                               .out = out,
                               .kernel = kernel,
                               .stride = 1,
                               .padding = kernel / 2,
                               .has_bias = true,
                               .fill = WEIGHT_NORMAL_001};
}

static void rcnn_build_rpn_head(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    struct conv_layer conv = head_conv(channels, 3);
    struct conv_layer scores = head_conv(n_ratios, 1);
    struct conv_layer boxes = head_conv(n_ratios * 4, 1);

    builder_enter(builder, "head", "RPNHead");
    for (int level = 0; level < RCNN_LEVELS; level++) {
        uint32_t x;

        builder_enter(builder, "conv", "Sequential");
        x = wrapped_conv(builder, 0, &conv, true, rcnn->features[level]);
        builder_leave(builder);
        rcnn->objectness[level] =
            builder_conv(builder, "cls_logits", &scores, x);
        rcnn->deltas[level] = builder_conv(builder, "bbox_pred", &boxes, x);
    }
    builder_leave(builder);
}

static void rcnn_build_anchors(struct rcnn *rcnn)
{
    struct anchor_grid_attrs attrs = {
        .n_levels = RCNN_LEVELS,
        .n_ratios = n_ratios,
        .sizes = {32, 64, 128, 256, 512},
        .ratios = {0.5f, 1, 2},
    };
    uint32_t inputs[1 + RCNN_LEVELS] = {rcnn->images[TRANSFORM_BATCH]};

    for (int level = 0; level < RCNN_LEVELS; level++)
        inputs[1 + level] = rcnn->features[level];
    builder_enter(&rcnn->builder, "anchor_generator", "AnchorGenerator");
    rcnn->anchors = builder_op(&rcnn->builder, "", &op_anchor_grid, &attrs,
                               inputs, 1 + RCNN_LEVELS);
    builder_leave(&rcnn->builder);
}

static void rcnn_build_filter(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    const struct model_sampling *sampling = &rcnn->options->sampling;
    bool is_training = rcnn->options->is_training;
    struct rpn_top_k_attrs top_k = {.k = is_training ? sampling->proposals
                                                     : 1000};
    struct rpn_nms_attrs nms = {.min_size = 1e-3f,
                                .score = 0,
                                .iou = 0.7f,
                                .keep = is_training ? sampling->kept_proposals
                                                    : 1000};
    uint32_t best[RPN_TOP_K_OUTPUTS], boxes;
    uint32_t decode[RPN_DECODE_DELTAS + RCNN_LEVELS];

    builder_enter(builder, "filter_proposals", "");
    builder_op_outputs(builder, "top_k", &op_rpn_top_k, &top_k,
                       rcnn->objectness, RCNN_LEVELS, best, RPN_TOP_K_OUTPUTS);
    decode[RPN_DECODE_CHOSEN] = best[RPN_TOP_K_ANCHORS];
    decode[RPN_DECODE_COUNTS] = best[RPN_TOP_K_COUNTS];
    decode[RPN_DECODE_ANCHORS] = rcnn->anchors;
    decode[RPN_DECODE_SIZES] = rcnn->images[TRANSFORM_SIZES];
    for (int level = 0; level < RCNN_LEVELS; level++)
        decode[RPN_DECODE_DELTAS + level] = rcnn->deltas[level];
    boxes = builder_op(builder, "decode", &op_rpn_decode, NULL, decode,
                       RPN_DECODE_DELTAS + RCNN_LEVELS);
    builder_op_outputs(builder, "nms", &op_rpn_nms, &nms,
                       (uint32_t[]){[RPN_NMS_BOXES] = boxes,
                                    [RPN_NMS_LOGITS] = best[RPN_TOP_K_LOGITS],
                                    [RPN_NMS_COUNTS] = best[RPN_TOP_K_COUNTS]},
                       3, rcnn->proposals, RPN_NMS_OUTPUTS);
    builder_leave(builder);
}

static void rcnn_build_rpn(struct rcnn *rcnn)
{
    builder_enter(&rcnn->builder, "rpn", "RegionProposalNetwork");
    rcnn_build_rpn_head(rcnn);
    rcnn_build_anchors(rcnn);
    rcnn_build_filter(rcnn);
    if (rcnn->options->is_training)
        rcnn_training_anchors(rcnn);
    builder_leave(&rcnn->builder);
}

/* Features of boxes; the coarsest level is only for proposals. */
static uint32_t rcnn_build_pool(struct rcnn *rcnn, const char *name,
                                int64_t size, struct rcnn_boxes of)
{
    struct roi_align_attrs attrs = {.size = size,
                                    .sampling_ratio = 2,
                                    .canonical_size = 224,
                                    .canonical_level = 4};
    uint32_t inputs[ROI_ALIGN_MAPS + RESNET_LEVELS] = {
        [ROI_ALIGN_BOXES] = of.boxes,
        [ROI_ALIGN_COUNTS] = of.counts,
        [ROI_ALIGN_SIZES] = rcnn->images[TRANSFORM_SIZES],
    };
    uint32_t y;

    for (int level = 0; level < RESNET_LEVELS; level++)
        inputs[ROI_ALIGN_MAPS + level] = rcnn->features[level];
    builder_enter(&rcnn->builder, name, "MultiScaleRoIAlign");
    y = builder_op(&rcnn->builder, "", &op_roi_align, &attrs, inputs,
                   ROI_ALIGN_MAPS + RESNET_LEVELS);
    builder_leave(&rcnn->builder);
    return y;
}

static uint32_t rcnn_build_box_head(struct builder *builder, uint32_t x)
{
    static const struct linear_layer fc6 = {.in = channels * 7 * 7,
                                            .out = hidden};
    static const struct linear_layer fc7 = {.in = hidden, .out = hidden};

    builder_enter(builder, "box_head", "TwoMLPHead");
    x = builder_flatten(builder, x);
    x = builder_linear(builder, "fc6", &fc6, x);
    x = builder_op(builder, "relu6", &op_relu, NULL, &x, 1);
    x = builder_linear(builder, "fc7", &fc7, x);
    x = builder_op(builder, "relu7", &op_relu, NULL, &x, 1);
    builder_leave(builder);
    return x;
}

static void rcnn_build_box_predictor(struct rcnn *rcnn, uint32_t x)
{
    struct builder *builder = &rcnn->builder;
    int64_t n = rcnn->options->n_classes;
    struct linear_layer scores = {.in = hidden, .out = n};
    struct linear_layer boxes = {.in = hidden, .out = 4 * n};

    builder_enter(builder, "box_predictor", "FastRCNNPredictor");
    rcnn->class_logits = builder_linear(builder, "cls_score", &scores, x);
    rcnn->box_deltas = builder_linear(builder, "bbox_pred", &boxes, x);
    builder_leave(builder);
}

static void rcnn_build_detections(struct rcnn *rcnn)
{
    struct box_detections_attrs attrs = {
        .score = rcnn->options->score,
        .min_size = 1e-2f,
        .iou = 0.5f,
        .keep = rcnn->options->detections,
    };
    uint32_t inputs[BOX_DETECTIONS_INPUTS] = {
        [BOX_DETECTIONS_LOGITS] = rcnn->class_logits,
        [BOX_DETECTIONS_DELTAS] = rcnn->box_deltas,
        [BOX_DETECTIONS_PROPOSALS] = rcnn->proposals[RPN_NMS_PROPOSALS],
        [BOX_DETECTIONS_COUNTS] = rcnn->proposals[RPN_NMS_KEPT],
        [BOX_DETECTIONS_SIZES] = rcnn->images[TRANSFORM_SIZES],
    };

    memcpy(attrs.weights, rcnn_box_weights, sizeof attrs.weights);
    builder_op_outputs(&rcnn->builder, "postprocess_detections",
                       &op_box_detections, &attrs, inputs,
                       BOX_DETECTIONS_INPUTS, rcnn->detections,
                       BOX_DETECTIONS_OUTPUTS);
}

static void rcnn_build_boxes(struct rcnn *rcnn)
{
    struct rcnn_boxes of = {rcnn->proposals[RPN_NMS_PROPOSALS],
                            rcnn->proposals[RPN_NMS_KEPT]};
    bool is_training = rcnn->options->is_training;

    if (is_training) {
        rcnn_training_samples(rcnn);
        of = rcnn->targets.sampled;
    }
    rcnn_build_box_predictor(
        rcnn,
        rcnn_build_box_head(&rcnn->builder,
                            rcnn_build_pool(rcnn, "box_roi_pool", 7, of)));
    if (is_training)
        rcnn_training_boxes(rcnn);
    else
        rcnn_build_detections(rcnn);
}

static uint32_t rcnn_build_mask_head(struct builder *builder, uint32_t x)
{
    struct conv_layer layer = head_conv(channels, 3);

    layer.fill = WEIGHT_KAIMING_NORMAL;
    builder_enter(builder, "mask_head", "MaskRCNNHeads");
    for (int i = 0; i < 4; i++)
        x = wrapped_conv(builder, i, &layer, true, x);
    builder_leave(builder);
    return x;
}

static uint32_t rcnn_build_mask_predictor(struct builder *builder,
                                          int64_t n_classes, uint32_t x)
{
    struct conv_layer up = {.in = channels,
                            .out = channels,
                            .kernel = 2,
                            .stride = 2,
                            .has_bias = true,
                            .has_default_bias = true,
                            .fill = WEIGHT_KAIMING_NORMAL};
    struct conv_layer logits = up;

    logits.out = n_classes;
    logits.kernel = logits.stride = 1;
    builder_enter(builder, "mask_predictor", "MaskRCNNPredictor");
    x = builder_conv_transpose(builder, "conv5_mask", &up, x);
    x = builder_relu(builder, "relu", x);
    x = builder_conv(builder, "mask_fcn_logits", &logits, x);
    builder_leave(builder);
    return x;
}

static void rcnn_build_masks(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    struct rcnn_boxes of = {rcnn->detections[BOX_DETECTIONS_BOXES],
                            rcnn->detections[BOX_DETECTIONS_KEPT]};
    bool is_training = rcnn->options->is_training;
    uint32_t x;

    if (is_training) {
        rcnn_training_positives(rcnn);
        of = rcnn->targets.positive;
    }
    x = rcnn_build_pool(rcnn, "mask_roi_pool", 14, of);
    x = rcnn_build_mask_head(builder, x);
    x = rcnn_build_mask_predictor(builder, rcnn->options->n_classes, x);
    rcnn->mask_logits = x;
    if (is_training)
        rcnn_training_masks(rcnn);
    else
        rcnn->masks = builder_op(
            builder, "maskrcnn_inference", &op_mask_select, NULL,
            (uint32_t[]){x, rcnn->detections[BOX_DETECTIONS_LABELS]}, 2);
}

/* Scales results to pixels of the photographs and makes them outputs. */
static void rcnn_build_results(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;
    struct paste_masks_attrs paste = {.is_soft = rcnn->options->has_soft_masks};
    const uint32_t *found = rcnn->detections;
    uint32_t counts = found[BOX_DETECTIONS_KEPT];
    uint32_t original = rcnn->images[TRANSFORM_ORIGINAL];
    uint32_t boxes, pasted[RCNN_MAX_IMAGES];
    size_t n = (size_t)rcnn->options->n_images;

    builder_enter(builder, "transform", "GeneralizedRCNNTransform");
    boxes = builder_op(builder, "resize_boxes", &op_resize_boxes, NULL,
                       (uint32_t[]){found[BOX_DETECTIONS_BOXES], counts,
                                    rcnn->images[TRANSFORM_SIZES], original},
                       4);
    if (rcnn->has_masks)
        builder_op_outputs(builder, "paste_masks", &op_paste_masks, &paste,
                           (uint32_t[]){rcnn->masks, boxes, counts, original},
                           4, pasted, n);
    builder_leave(builder);
    builder_output(builder, "boxes", boxes);
    builder_output(builder, "scores", found[BOX_DETECTIONS_SCORES]);
    builder_output(builder, "labels", found[BOX_DETECTIONS_LABELS]);
    builder_output(builder, "counts", counts);
    for (size_t i = 0; rcnn->has_masks && i < n; i++) {
        char name[32];

        snprintf(name, sizeof name, "masks_%zu", i);
        builder_output(builder, name, pasted[i]);
    }
}

static enum assay_status rcnn_check_options(const struct model_options *options,
                                            struct error *err)
{
    const struct model_sampling *sampling = &options->sampling;

    if (options->n_images < 1 || options->n_images > RCNN_MAX_IMAGES)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a detector takes batches of 1 to %d images, not %lld",
                         RCNN_MAX_IMAGES, (long long)options->n_images);
    if (options->n_classes < 2)
        return error_set(err, ASSAY_BAD_USAGE,
                         "%lld classes are too few; the background and one "
                         "more are needed",
                         (long long)options->n_classes);
    if (!options->is_training)
        return ASSAY_OK;
    if (options->trainable_layers < MODEL_TRAINABLE_DEFAULT ||
        options->trainable_layers > MODEL_BACKBONE_LAYERS)
        return error_set(err, ASSAY_BAD_USAGE,
                         "cannot train %lld layers of the backbone; 0 to %d "
                         "are possible",
                         (long long)options->trainable_layers,
                         MODEL_BACKBONE_LAYERS);
    if (sampling->proposals < 1 || sampling->kept_proposals < 1 ||
        sampling->anchors < 1 || sampling->boxes < 1)
        return error_set(err, ASSAY_BAD_USAGE,
                         "a detector needs at least one sample of each kind");
    return ASSAY_OK;
}

static void rcnn_build_all(struct rcnn *rcnn)
{
    struct builder *builder = &rcnn->builder;

    rcnn_build_transform(rcnn);
    rcnn_build_backbone(rcnn);
    rcnn_build_rpn(rcnn);
    builder_enter(builder, "roi_heads", "RoIHeads");
    rcnn_build_boxes(rcnn);
    if (rcnn->has_masks)
        rcnn_build_masks(rcnn);
    builder_leave(builder);
    if (rcnn->options->is_training) {
        rcnn_training_norms(rcnn);
        rcnn_training_freeze(rcnn);
    } else {
        rcnn_build_results(rcnn);
    }
}

static enum assay_status rcnn_build(const struct member *member,
                                    const struct model_options *options,
                                    struct graph **out, struct error *err)
{
    struct rcnn rcnn = {.options = options,
                        .depth = member->depth,
                        .has_masks = member->has_masks};
    enum assay_status st = rcnn_check_options(options, err);

    *out = NULL;
    if (st)
        return st;
    if (!builder_start(&rcnn.builder, member->name,
                       member->has_masks ? "MaskRCNN" : "FasterRCNN", options,
                       err))
        rcnn_build_all(&rcnn);
    return builder_finish(&rcnn.builder, out);
}

const struct family family_rcnn = {
    .task = TASK_DETECTION,
    .build = rcnn_build,
};
