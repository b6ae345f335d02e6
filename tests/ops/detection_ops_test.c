/* tests/ops/detection_ops_test.c - the detection ops on cases worked out by
 * hand, and on damaged or empty inputs. */
#include "base/mem.h"
#include "op_run.h"
#include "ops/detection/anchor_grid.h"
#include "ops/detection/box_detections.h"
#include "ops/detection/detection_transform.h"
#include "ops/detection/mask_ops.h"
#include "ops/detection/roi_align.h"
#include "ops/detection/rpn_decode.h"
#include "ops/detection/rpn_nms.h"
#include "ops/detection/rpn_top_k.h"

#include <math.h>

static void check_floats(const struct tensor *got, const float *want, size_t n)
{
    CHECK_INT(tensor_elements(got), n);
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(tensor_f32(got)[i], want[i], 1e-5);
}

static const struct detection_transform_attrs plain_transform = {
    .min_size = 4,
    .max_size = 8,
    .size_divisible = 4,
    .mean = {1, 0, 0},
    .std = {2, 1, 1},
};

TEST(a_photograph_is_normalised_stretched_and_padded)
{
    /* 2x3 becomes 4x6 in a frame of 4x8; along a row 1 4 7: 1, 1.75, 3.25 ...
     */
    static const float image[18] = {3, 9, 15, 3, 9, 15};
    static const float row[8] = {1, 1.75F, 3.25F, 4.75F, 6.25F, 7, 0, 0};
    struct tensor in = floats(image, dims(3, 3, 2, 3, 0));
    const struct tensor *inputs[] = {&in};
    struct tensor out[3];

    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(op_run(&op_detection_transform, &plain_transform,
                            op_ways[way], inputs, 1, out, 3),
                     ASSAY_OK, &op_err);
        CHECK_INT(out[TRANSFORM_BATCH].shape.dims[3], 8);
        for (int y = 0; y < 4; y++) {
            for (int x = 0; x < 8; x++)
                CHECK_NEAR(tensor_f32(&out[TRANSFORM_BATCH])[8 * y + x], row[x],
                           1e-6);
        }
        CHECK_INT(tensor_i64(&out[TRANSFORM_SIZES])[0], 4);
        CHECK_INT(tensor_i64(&out[TRANSFORM_SIZES])[1], 6);
        CHECK_INT(tensor_i64(&out[TRANSFORM_ORIGINAL])[0], 2);
        CHECK_INT(tensor_i64(&out[TRANSFORM_ORIGINAL])[1], 3);
        op_release(out, 3);
    }
    tensor_release(&in);
}

TEST(the_longer_side_is_limited)
{
    struct detection_transform_attrs attrs = {.min_size = 800,
                                              .max_size = 1333};
    int64_t height, width;

    detection_transform_size(&attrs, 100, 1000, &height, &width);
    CHECK_INT(width, 1333);
    CHECK_INT(height, 133);
}

TEST(a_photograph_that_would_be_resized_to_nothing_is_refused)
{
    struct tensor in = floats(NULL, dims(3, 3, 1, 100, 0));
    const struct tensor *inputs[] = {&in};
    struct tensor out[3];

    CHECK_INT(op_run(&op_detection_transform, &plain_transform,
                     op_ways[OP_TWO_THREADS], inputs, 1, out, 3),
              ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "image 0 of 100x1 pixels is too narrow");
    tensor_release(&in);
}

TEST(every_place_of_every_level_has_its_anchors)
{
    struct anchor_grid_attrs attrs = {
        .n_levels = 2, .n_ratios = 1, .sizes = {4, 9}, .ratios = {1}};
    /* Half of 9 is rounded to even. */
    static const float want[] = {-2, -2, 2, 2, 6,  -2, 10, 2,  -2, 6,
                                 2,  10, 6, 6, 10, 10, -4, -4, 4,  4};
    struct tensor batch = floats(NULL, dims(4, 1, 3, 16, 16));
    struct tensor fine = floats(NULL, dims(4, 1, 5, 2, 2));
    struct tensor coarse = floats(NULL, dims(4, 1, 5, 1, 1));
    const struct tensor *inputs[] = {&batch, &fine, &coarse};
    struct tensor out;

    CHECK_STATUS(op_run(&op_anchor_grid, &attrs, op_ways[OP_TWO_THREADS],
                        inputs, 3, &out, 1),
                 ASSAY_OK, &op_err);
    CHECK_INT(out.shape.dims[0], 5);
    CHECK_INT(tensor_f32(&out)[4], 8 - 2);
    check_floats(&out, want, 20);
    tensor_release(&out);
    tensor_release(&batch);
    tensor_release(&fine);
    tensor_release(&coarse);
}

TEST(equal_scores_of_a_level_are_ordered_by_anchor)
{
    /* Two ratios at two places: anchors 0..3 have 1 5 5 nan. */
    static const float fine[] = {1, 5, 5, NAN}, coarse[] = {7};
    static const int64_t want[] = {1, 2, 4};
    struct rpn_top_k_attrs attrs = {.k = 2};
    struct tensor levels[] = {floats(fine, dims(4, 1, 2, 1, 2)),
                              floats(coarse, dims(4, 1, 1, 1, 1))};
    const struct tensor *inputs[] = {&levels[0], &levels[1]};
    struct tensor out[3];

    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(
            op_run(&op_rpn_top_k, &attrs, op_ways[way], inputs, 2, out, 3),
            ASSAY_OK, &op_err);
        for (int i = 0; i < 3; i++)
            CHECK_INT(tensor_i64(&out[RPN_TOP_K_ANCHORS])[i], want[i]);
        CHECK_NEAR(tensor_f32(&out[RPN_TOP_K_LOGITS])[2], 7, 0);
        CHECK_INT(tensor_i64(&out[RPN_TOP_K_COUNTS])[0], 2);
        CHECK_INT(tensor_i64(&out[RPN_TOP_K_COUNTS])[1], 1);
        op_release(out, 3);
    }
    op_release(levels, 2);
}

TEST(deltas_move_and_stretch_an_anchor_and_the_image_clips_it)
{
    /* The second anchor: centre (20, 10), 20 wide, 10 high; moved by half its
     * width, twice as wide; the growth of its height is limited. */
    static const float anchors[] = {0, 0, 9, 9, 10, 5, 30, 15};
    static const float deltas[] = {0, 0, 0, 0, 0.5F, 0, 0.6931472F, 100};
    static const int64_t chosen[] = {1}, counts[] = {1}, size[] = {600, 45};
    static const float want[] = {10, 0, 45, 10 + 312.5F};
    struct tensor t[] = {integers(chosen, dims(1, 1, 0, 0, 0)),
                         integers(counts, dims(2, 1, 1, 0, 0)),
                         floats(anchors, dims(2, 2, 4, 0, 0)),
                         integers(size, dims(2, 1, 2, 0, 0)),
                         floats(deltas, dims(4, 1, 8, 1, 1))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3], &t[4]};
    struct tensor out;

    CHECK_STATUS(op_run(&op_rpn_decode, NULL, op_ways[OP_TWO_THREADS], inputs,
                        5, &out, 1),
                 ASSAY_OK, &op_err);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(tensor_f32(&out)[i], want[i], 1e-3);
    tensor_release(&out);
    tensor_i64(&t[0])[0] = 2;
    CHECK_INT(op_run(&op_rpn_decode, NULL, op_ways[OP_TWO_THREADS], inputs, 5,
                     &out, 1),
              ASSAY_BAD_INPUT);
    CHECK_STR(op_err.text, "anchor 2 is not in its level");
    op_release(t, 5);
}

TEST(a_box_that_overlaps_a_better_one_of_its_group_is_removed)
{
    /* 0 and 1 share 8 of 12: IoU 2/3. 2 is 1's twin in another group. 3 exceeds
     * the threshold only with 1, which is removed. */
    static const struct box boxes[] = {
        {0, 0, 10, 1}, {2, 0, 12, 1}, {2, 0, 12, 1}, {4, 0, 14, 1}};
    static const float scores[] = {0.9F, 0.8F, 0.7F, 0.95F - 0.3F};
    static const int64_t groups[] = {0, 0, 1, 0};
    struct nms_input input = {boxes, scores, groups, 4, 2, 0.5F};
    uint32_t kept[4];

    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_INT(suppress(op_ways[way], &input, kept), 3);
        CHECK_INT(kept[0], 0);
        CHECK_INT(kept[1], 2);
        CHECK_INT(kept[2], 3);
    }
    input.iou = 0.7F;
    for (int way = 0; way < OP_WAYS; way++)
        CHECK_INT(suppress(op_ways[way], &input, kept), 4);
}

TEST(an_overlap_of_exactly_the_threshold_is_allowed)
{
    static const struct box boxes[] = {{0, 0, 4, 1}, {0, 0, 2, 1}};
    static const float scores[] = {1, 0.5F};
    static const int64_t groups[] = {0, 0};
    struct nms_input input = {boxes, scores, groups, 2, 1, 0.5F};
    uint32_t kept[2];

    for (int way = 0; way < OP_WAYS; way++)
        CHECK_INT(suppress(op_ways[way], &input, kept), 2);
}

TEST(few_boxes_are_rounded_as_when_torchvision_shifts_groups)
{
    /* Group 90 is shifted by 90 * 1000001, where floats are 8 apart: 11 becomes
     * 8, and boxes that share 8/11 become equal. */
    static const struct box boxes[] = {
        {0, 0, 1e6F, 1}, {0, 0, 8, 8}, {0, 0, 11, 8}};
    static const float scores[] = {1, 0.9F, 0.8F};
    static const int64_t groups[] = {0, 90, 90};
    struct nms_input input = {boxes, scores, groups, 3, 91, 0.8F};
    uint32_t kept[3];

    for (int way = 0; way < OP_WAYS; way++)
        CHECK_INT(suppress(op_ways[way], &input, kept), 2);
}

static const struct rpn_nms_attrs rpn_nms = {
    .min_size = 1e-3F, .score = 0, .iou = 0.7F, .keep = 4};

TEST(proposals_that_are_small_or_have_no_score_are_removed)
{
    /* Large, a line, NaN, without a score, another, a third. */
    static const float boxes[] = {0,  0, 9,  9, 5,  5, 5,  9, NAN, 0, 9,  9,
                                  20, 0, 29, 9, 40, 0, 49, 9, 60,  0, 69, 9};
    static const float logits[] = {1, 9, 9, NAN, 2, 0};
    static const int64_t counts[] = {6, 0};
    static const float want[] = {40, 0, 49, 9, 0, 0, 9, 9, 60, 0, 69, 9};
    struct tensor t[] = {floats(boxes, dims(2, 6, 4, 0, 0)),
                         floats(logits, dims(1, 6, 0, 0, 0)),
                         integers(counts, dims(2, 2, 1, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2]};
    struct tensor out[RPN_NMS_OUTPUTS];

    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(op_run(&op_rpn_nms, &rpn_nms, op_ways[way], inputs, 3, out,
                            RPN_NMS_OUTPUTS),
                     ASSAY_OK, &op_err);
        check_floats(&out[RPN_NMS_PROPOSALS], want, 12);
        CHECK_INT(tensor_i64(&out[RPN_NMS_KEPT])[0], 3);
        CHECK_INT(tensor_i64(&out[RPN_NMS_KEPT])[1], 0);
        CHECK_INT(tensor_i64(&out[RPN_NMS_LEVELS])[0], 3);
        CHECK_INT(tensor_i64(&out[RPN_NMS_LEVELS])[1], 0);
        op_release(out, RPN_NMS_OUTPUTS);
    }
    op_release(t, 3);
}

/* Five boxes; the second of level 1 equals its first, and the best four of both
 * levels may stay. The last has the lowest score. */
TEST(kept_proposals_are_counted_by_level)
{
    static const float boxes[] = {0,  0, 9,  9, 20, 0, 29, 9, 40, 0, 49, 9,
                                  40, 0, 49, 8, 60, 0, 69, 9, 80, 0, 89, 9};
    static const float logits[] = {5, -3, 4, 3, 2, 1};
    static const int64_t counts[] = {2, 4};
    struct tensor t[] = {floats(boxes, dims(2, 6, 4, 0, 0)),
                         floats(logits, dims(1, 6, 0, 0, 0)),
                         integers(counts, dims(2, 1, 2, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2]};
    struct tensor out[RPN_NMS_OUTPUTS];

    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(op_run(&op_rpn_nms, &rpn_nms, op_ways[way], inputs, 3, out,
                            RPN_NMS_OUTPUTS),
                     ASSAY_OK, &op_err);
        CHECK_INT(tensor_i64(&out[RPN_NMS_KEPT])[0], 4);
        CHECK_INT(tensor_i64(&out[RPN_NMS_LEVELS])[0], 1);
        CHECK_INT(tensor_i64(&out[RPN_NMS_LEVELS])[1], 3);
        op_release(out, RPN_NMS_OUTPUTS);
    }
    op_release(t, 3);
}

TEST(counts_that_do_not_add_up_are_refused)
{
    static const int64_t counts[] = {1, 2};
    struct tensor t[] = {floats(NULL, dims(2, 2, 4, 0, 0)),
                         floats(NULL, dims(1, 2, 0, 0, 0)),
                         integers(counts, dims(2, 1, 2, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2]};
    struct tensor out[RPN_NMS_OUTPUTS];

    CHECK_INT(op_run(&op_rpn_nms, &rpn_nms, op_ways[OP_TWO_THREADS], inputs, 3,
                     out, RPN_NMS_OUTPUTS),
              ASSAY_BAD_INPUT);
    CHECK_STR(op_err.text, "count 1 is 2, but 1 of 2 are left");
    op_release(t, 3);
}

TEST(pooling_a_ramp_gives_the_middle_of_each_bin)
{
    /* A map whose values are the columns, a quarter of an image 32 pixels wide.
     * The box covers columns 1 to 5: bins 1-3 and 3-5. */
    static const float box[] = {4, 4, 20, 20};
    static const int64_t counts[] = {1}, size[] = {32, 32};
    static const float want[] = {2, 4, 2, 4};
    struct roi_align_attrs attrs = {.size = 2,
                                    .sampling_ratio = 2,
                                    .canonical_size = 224,
                                    .canonical_level = 4};
    struct tensor t[] = {
        floats(box, dims(2, 1, 4, 0, 0)), integers(counts, dims(1, 1, 0, 0, 0)),
        integers(size, dims(2, 1, 2, 0, 0)), floats(NULL, dims(4, 1, 1, 8, 8))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3]};
    struct tensor out;

    for (int i = 0; i < 64; i++)
        tensor_f32(&t[3])[i] = (float)(i % 8);
    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(
            op_run(&op_roi_align, &attrs, op_ways[way], inputs, 4, &out, 1),
            ASSAY_OK, &op_err);
        check_floats(&out, want, 4);
        tensor_release(&out);
    }
    op_release(t, 4);
}

TEST(a_box_is_pooled_from_the_level_of_its_size)
{
    /* 112 pixels are half of the canonical 224: one level below the fourth. */
    static const float boxes[] = {8, 8, 119, 119, 8, 8, 120, 120};
    static const int64_t counts[] = {2}, size[] = {256, 256};
    struct roi_align_attrs attrs = {.size = 1,
                                    .sampling_ratio = 2,
                                    .canonical_size = 224,
                                    .canonical_level = 4};
    struct tensor t[] = {floats(boxes, dims(2, 2, 4, 0, 0)),
                         integers(counts, dims(1, 1, 0, 0, 0)),
                         integers(size, dims(2, 1, 2, 0, 0)),
                         floats(NULL, dims(4, 1, 1, 64, 64)),
                         floats(NULL, dims(4, 1, 1, 32, 32))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3], &t[4]};
    struct tensor out;

    for (size_t i = 0; i < tensor_elements(&t[4]); i++)
        tensor_f32(&t[4])[i] = 1;
    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(
            op_run(&op_roi_align, &attrs, op_ways[way], inputs, 5, &out, 1),
            ASSAY_OK, &op_err);
        CHECK_NEAR(tensor_f32(&out)[0], 0, 0);
        CHECK_NEAR(tensor_f32(&out)[1], 1, 1e-6);
        tensor_release(&out);
    }
    op_release(t, 5);
}

static const struct box_detections_attrs one_detection = {
    .weights = {10, 10, 5, 5},
    .score = 0.2F,
    .min_size = 1e-2F,
    .iou = 0.5F,
    .keep = 2};

TEST(background_and_nan_scores_are_never_detected)
{
    /* Proposals: background; NaN; classes 1 and 2 equally; class 2, overlapping
     * the one before, with a slightly higher score. */
    static const float logits[] = {9, 0, 0, NAN, 0, 0, 0, 9, 9, -9, 0, 9};
    static const float proposals[] = {0,  0,  9,  9,  0,  0,  9,  9,
                                      10, 10, 20, 20, 10, 10, 20, 20};
    static const int64_t counts[] = {4}, size[] = {50, 15};
    static const float want[] = {10, 10, 15, 20, 10, 10, 15, 20};
    struct tensor t[] = {floats(logits, dims(2, 4, 3, 0, 0)),
                         floats(NULL, dims(2, 4, 12, 0, 0)),
                         floats(proposals, dims(2, 4, 4, 0, 0)),
                         integers(counts, dims(1, 1, 0, 0, 0)),
                         integers(size, dims(2, 1, 2, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3], &t[4]};
    struct tensor out[4];

    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(op_run(&op_box_detections, &one_detection, op_ways[way],
                            inputs, 5, out, 4),
                     ASSAY_OK, &op_err);
        check_floats(&out[BOX_DETECTIONS_BOXES], want, 8);
        CHECK_INT(tensor_i64(&out[BOX_DETECTIONS_LABELS])[0], 2);
        CHECK_INT(tensor_i64(&out[BOX_DETECTIONS_LABELS])[1], 1);
        CHECK_NEAR(tensor_f32(&out[BOX_DETECTIONS_SCORES])[0], 1, 1e-3);
        CHECK_NEAR(tensor_f32(&out[BOX_DETECTIONS_SCORES])[1], 0.5, 1e-3);
        CHECK_INT(tensor_i64(&out[BOX_DETECTIONS_KEPT])[0], 2);
        op_release(out, 4);
    }
    op_release(t, 5);
}

TEST(no_proposals_give_no_detections_features_or_masks)
{
    static const int64_t counts[] = {0}, size[] = {30, 40};
    struct roi_align_attrs attrs = {.size = 7,
                                    .sampling_ratio = 2,
                                    .canonical_size = 224,
                                    .canonical_level = 4};
    struct paste_masks_attrs paste = {0};
    struct tensor boxes = floats(NULL, dims(2, 0, 4, 0, 0));
    struct tensor count = integers(counts, dims(1, 1, 0, 0, 0));
    struct tensor sizes = integers(size, dims(2, 1, 2, 0, 0));
    struct tensor logits = floats(NULL, dims(2, 0, 91, 0, 0));
    struct tensor deltas = floats(NULL, dims(2, 0, 364, 0, 0));
    struct tensor masks = floats(NULL, dims(4, 0, 1, 28, 28));
    struct tensor map = floats(NULL, dims(4, 1, 256, 8, 10));
    const struct tensor *detect[] = {&logits, &deltas, &boxes, &count, &sizes};
    const struct tensor *pool[] = {&boxes, &count, &sizes, &map};
    const struct tensor *place[] = {&masks, &boxes, &count, &sizes};

    compare_ways(&op_box_detections, &one_detection, detect, 5, 4, 0);
    compare_ways(&op_roi_align, &attrs, pool, 4, 1, 0);
    compare_ways(&op_paste_masks, &paste, place, 4, 1, 0);
    tensor_release(&boxes);
    tensor_release(&count);
    tensor_release(&sizes);
    tensor_release(&logits);
    tensor_release(&deltas);
    tensor_release(&masks);
    tensor_release(&map);
}

TEST(a_mask_is_the_probability_of_its_class)
{
    static const float logits[] = {0, 9, 0, 0, 1.0986123F, -1.0986123F};
    static const int64_t labels[] = {2};
    static const float want[] = {0.75F, 0.25F};
    struct tensor t[] = {floats(logits, dims(4, 1, 3, 1, 2)),
                         integers(labels, dims(1, 1, 0, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1]};
    struct tensor out;

    CHECK_STATUS(op_run(&op_mask_select, NULL, op_ways[OP_TWO_THREADS], inputs,
                        2, &out, 1),
                 ASSAY_OK, &op_err);
    check_floats(&out, want, 2);
    tensor_release(&out);
    tensor_i64(&t[1])[0] = 3;
    CHECK_INT(op_run(&op_mask_select, NULL, op_ways[OP_TWO_THREADS], inputs, 2,
                     &out, 1),
              ASSAY_BAD_INPUT);
    CHECK_STR(op_err.text, "label 3 is not one of 3 classes");
    op_release(t, 2);
}

TEST(boxes_are_scaled_by_their_own_image)
{
    static const float boxes[] = {2, 2, 4, 4, 3, 3, 6, 6};
    static const int64_t counts[] = {1, 1}, sizes[] = {10, 10, 30, 30};
    static const int64_t original[] = {20, 30, 10, 60};
    static const float want[] = {6, 4, 12, 8, 6, 1, 12, 2};
    struct tensor t[] = {floats(boxes, dims(2, 2, 4, 0, 0)),
                         integers(counts, dims(1, 2, 0, 0, 0)),
                         integers(sizes, dims(2, 2, 2, 0, 0)),
                         integers(original, dims(2, 2, 2, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3]};
    struct tensor out;

    CHECK_STATUS(op_run(&op_resize_boxes, NULL, op_ways[OP_TWO_THREADS], inputs,
                        4, &out, 1),
                 ASSAY_OK, &op_err);
    check_floats(&out, want, 8);
    tensor_release(&out);
    op_release(t, 4);
}

TEST(a_mask_fills_its_box_and_fades_outside)
{
    /* A mask of 2x2 ones with its frame is 4x4; the box of 4 pixels becomes one
     * from -1 to 7, 9 pixels. The first and last ones inside are 11/18, which
     * is more than half along a row but less in a corner. */
    static const float mask[] = {1, 1, 1, 1}, box[] = {1, 1, 5, 5};
    static const int64_t counts[] = {1}, size[] = {6, 7};
    static const uint8_t want[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0,
                                   0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 0,
                                   0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0};
    struct paste_masks_attrs attrs = {0};
    struct tensor t[] = {floats(mask, dims(4, 1, 1, 2, 2)),
                         floats(box, dims(2, 1, 4, 0, 0)),
                         integers(counts, dims(1, 1, 0, 0, 0)),
                         integers(size, dims(2, 1, 2, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3]};
    struct tensor out;

    for (int way = 0; way < OP_WAYS; way++) {
        CHECK_STATUS(
            op_run(&op_paste_masks, &attrs, op_ways[way], inputs, 4, &out, 1),
            ASSAY_OK, &op_err);
        CHECK_INT(out.dtype, DTYPE_U8);
        CHECK_INT(tensor_bytes(&out), sizeof want);
        CHECK(memcmp(tensor_data(&out), want, sizeof want) == 0);
        tensor_release(&out);
    }
    op_release(t, 4);
}

TEST(detecting_leaks_nothing_whichever_allocation_fails)
{
    static const int64_t counts[] = {3}, size[] = {50, 50};
    struct random random = random_seed(37);
    struct tensor t[] = {noise(&random, dims(2, 3, 5, 0, 0)),
                         floats(NULL, dims(2, 3, 20, 0, 0)),
                         floats(NULL, dims(2, 3, 4, 0, 0)),
                         integers(counts, dims(1, 1, 0, 0, 0)),
                         integers(size, dims(2, 1, 2, 0, 0))};
    const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3], &t[4]};
    struct tensor out[4];
    size_t before;
    enum assay_status st;
    long nth = 0;

    random_boxes(&random, tensor_boxes(&t[2]), 3);
    pool_trim(op_pool());
    before = pool_usage(op_pool()).live_bytes;
    do {
        mem_fail_at(nth++);
        st = op_run(&op_box_detections, &one_detection, op_ways[OP_TWO_THREADS],
                    inputs, 5, out, 4);
        mem_fail_at(-1);
        if (st == ASSAY_OK)
            op_release(out, 4);
        CHECK_INT(pool_usage(op_pool()).live_bytes, before);
        pool_trim(op_pool());
    } while (st == ASSAY_NOMEM);
    CHECK_INT(st, ASSAY_OK);
    CHECK(nth > 4);
    op_release(t, 5);
}
