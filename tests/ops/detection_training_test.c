/* The ops that train detectors, against torchvision's functions and their
 * gradients by autograd (make_detection_training.py). */
#include "models/torchvision.h"
#include "op_run.h"
#include "op_step.h"
#include "ops/detection/anchor_match.h"
#include "ops/detection/anchor_sample.h"
#include "ops/detection/detection_targets.h"
#include "ops/detection/mask_targets.h"
#include "ops/detection/roi_positives.h"
#include "ops/detection/roi_sample.h"
#include "ops/loss/box_loss.h"
#include "ops/loss/mask_loss.h"
#include "ops/loss/rpn_loss.h"

#include <math.h>
#include <stdio.h>

enum { all = 1 << 20 }; /* sample size: more than there are */

static const struct anchor_match_attrs anchors_attrs = {
    .rule = {.high = 0.7F, .low = 0.3F, .keeps_best = true}};

/* ---- torchvision's answers --------------------------------------------- */

static struct answer {
    char name[64];
    struct tensor tensor;
} answers[64];
static size_t n_answers;

static struct checkpoint *open_answers(void)
{
    static struct checkpoint *file;

    if (!file)
        file = answer_open(
            torchvision_ask("training", "ops/make_detection_training.py", ""),
            "answers");
    return file;
}

/* Kept until the program ends. */
static const struct tensor *answer(const char *name)
{
    struct answer *found = answers;

    for (; found < answers + n_answers; found++) {
        if (strcmp(found->name, name) == 0)
            return &found->tensor;
    }
    CHECK(n_answers < sizeof answers / sizeof *answers);
    snprintf(found->name, sizeof found->name, "%s", name);
    found->tensor = answer_tensor(open_answers(), op_pool(), name);
    n_answers++;
    return &found->tensor;
}

static const struct tensor *answer_at(const char *name, int i)
{
    char text[64];

    snprintf(text, sizeof text, "%s.%d", name, i);
    return answer(text);
}

/* Within 1e-5 of the largest value. */
static void check_answer(const struct tensor *got, const struct tensor *want)
{
    double largest = 0;

    CHECK(shape_equal(&got->shape, &want->shape));
    CHECK_INT(got->dtype, want->dtype);
    for (size_t i = 0; want->dtype == DTYPE_F32 && i < tensor_elements(want);
         i++)
        largest = fmax(largest, fabs((double)tensor_f32(want)[i]));
    check_same(got, want, 1e-5 * largest);
}

static void run(const struct op_class *op, const void *attrs, int way,
                const struct tensor *const *inputs, size_t n_inputs,
                struct tensor *outputs, size_t n_outputs)
{
    CHECK_STATUS(
        op_run(op, attrs, op_ways[way], inputs, n_inputs, outputs, n_outputs),
        ASSAY_OK, &op_err);
}

/* A gradient of a node that ran: dy is one number per output. */
static void run_back(const struct node *node,
                     const struct tensor *const *inputs, const float *dy,
                     uint64_t wanted, struct tensor *dx)
{
    struct op_context context = {.pool = op_pool(), .n_threads = 2};
    struct op_step step = {.node = node};
    struct tensor made[2];
    const struct tensor *given[2];

    for (size_t i = 0; i < node->n_inputs; i++)
        step.inputs[i] = inputs[i];
    for (size_t i = 0; i < node->n_outputs; i++) {
        made[i] = floats(&dy[i], (struct shape){.rank = 0});
        given[i] = &made[i];
    }
    CHECK_STATUS(op_step_forward(&step, &context, true, &op_err), ASSAY_OK,
                 &op_err);
    CHECK_STATUS(op_step_backward(&step, &context, given, wanted, dx, &op_err),
                 ASSAY_OK, &op_err);
    op_step_release(&step);
    op_release(made, node->n_outputs);
}

/* ---- targets ------------------------------------------------------------ */

static const struct detection_targets_attrs six_classes = {.n_classes = 6};

TEST(boxes_of_objects_are_resized_like_their_image)
{
    const struct tensor *inputs[] = {
        answer("targets.boxes"), answer("targets.labels"),
        answer("targets.counts"), answer("targets.sizes"),
        answer("targets.original")};
    struct tensor out;

    run(&op_detection_targets, &six_classes, OP_FAST, inputs,
        DETECTION_TARGETS_INPUTS, &out, 1);
    check_same(&out, answer("targets.resized"), 0);
    tensor_release(&out);
}

/* One object in the second of two images. */
static enum assay_status try_object(struct box box, int64_t label)
{
    struct tensor boxes = floats(&box.x1, dims(2, 1, 4, 0, 0));
    struct tensor labels = integers(&label, dims(1, 1, 0, 0, 0));
    struct tensor counts = integers((int64_t[]){0, 1}, dims(1, 2, 0, 0, 0));
    struct tensor sizes =
        integers((int64_t[]){50, 60, 70, 80}, dims(2, 2, 2, 0, 0));
    const struct tensor *inputs[] = {&boxes, &labels, &counts, &sizes, &sizes};
    struct tensor out;
    enum assay_status st =
        op_run(&op_detection_targets, &six_classes, op_ways[OP_FAST], inputs,
               DETECTION_TARGETS_INPUTS, &out, 1);

    if (!st)
        tensor_release(&out);
    tensor_release(&boxes);
    tensor_release(&labels);
    tensor_release(&counts);
    tensor_release(&sizes);
    return st;
}

TEST(objects_without_a_valid_box_or_class_are_refused_by_name)
{
    CHECK_INT(try_object((struct box){1, 2, 3, 4}, 5), ASSAY_OK);
    CHECK_INT(try_object((struct box){1, 2, 1, 4}, 5), ASSAY_BAD_INPUT);
    CHECK_STR(op_err.text, "object 0 of image 1 has an invalid box, from 1,2 "
                           "to 1,4");
    CHECK_INT(try_object((struct box){1, 2, 3, INFINITY}, 5), ASSAY_BAD_INPUT);
    CHECK_INT(try_object((struct box){1, 2, 3, NAN}, 5), ASSAY_BAD_INPUT);
    CHECK_INT(try_object((struct box){1, 2, 3, 4}, 6), ASSAY_BAD_INPUT);
    CHECK_STR(op_err.text, "object 0 of image 1 has class 6; the model has "
                           "classes 1 to 5");
    CHECK_INT(try_object((struct box){1, 2, 3, 4}, 0), ASSAY_BAD_INPUT);
}

/* ---- the region proposal network --------------------------------------- */

TEST(anchors_match_the_same_objects_as_in_torchvision)
{
    const struct tensor *inputs[] = {answer("anchors.anchors"),
                                     answer("anchors.boxes"),
                                     answer("anchors.counts")};
    const struct tensor *want = answer("anchors.matches");
    struct tensor out;

    for (int way = 0; way < OP_WAYS; way++) {
        run(&op_anchor_match, &anchors_attrs, way, inputs, ANCHOR_MATCH_INPUTS,
            &out, 1);
        check_answer(&out, want);
        tensor_release(&out);
    }
}

TEST(if_all_anchors_are_sampled_they_equal_torchvision_s)
{
    struct anchor_sample_attrs attrs = {.rule = {.n = all, .share = 0.5F}};
    struct tensor seed = integers((int64_t[]){3}, dims(1, 1, 0, 0, 0));
    const struct tensor *inputs[] = {answer("anchors.matches"),
                                     answer("anchors.anchors"),
                                     answer("anchors.boxes"), &seed};
    struct tensor out[ANCHOR_SAMPLE_OUTPUTS];

    run(&op_anchor_sample, &attrs, OP_FAST, inputs, ANCHOR_SAMPLE_INPUTS, out,
        ANCHOR_SAMPLE_OUTPUTS);
    check_answer(&out[ANCHOR_SAMPLE_CHOSEN], answer("anchors.chosen"));
    check_answer(&out[ANCHOR_SAMPLE_LABELS], answer("anchors.labels"));
    check_answer(&out[ANCHOR_SAMPLE_DELTAS], answer("anchors.deltas"));
    op_release(out, ANCHOR_SAMPLE_OUTPUTS);
    tensor_release(&seed);
}

enum { n_levels = 2, n_rpn_inputs = RPN_LOSS_MAPS + 2 * n_levels };

static void rpn_inputs(const struct tensor *inputs[n_rpn_inputs])
{
    inputs[RPN_LOSS_CHOSEN] = answer("anchors.chosen");
    inputs[RPN_LOSS_LABELS] = answer("anchors.labels");
    inputs[RPN_LOSS_TARGETS] = answer("anchors.deltas");
    for (int i = 0; i < n_levels; i++) {
        inputs[RPN_LOSS_MAPS + i] = answer_at("rpn.logits", i);
        inputs[RPN_LOSS_MAPS + n_levels + i] = answer_at("rpn.regression", i);
    }
}

TEST(losses_of_the_proposal_network_and_their_slopes_equal_torchvision_s)
{
    struct rpn_loss_attrs attrs = {.beta = 1.0F / 9};
    struct node node = {.op = &op_rpn_loss,
                        .attrs = &attrs,
                        .n_inputs = n_rpn_inputs,
                        .n_outputs = RPN_LOSS_OUTPUTS};
    const struct tensor *inputs[n_rpn_inputs];
    const struct tensor *want = answer("rpn.losses");
    struct tensor out[RPN_LOSS_OUTPUTS], dx[OP_STEP_MAX];

    rpn_inputs(inputs);
    run(&op_rpn_loss, &attrs, OP_FAST, inputs, n_rpn_inputs, out,
        RPN_LOSS_OUTPUTS);
    for (int i = 0; i < RPN_LOSS_OUTPUTS; i++)
        CHECK_NEAR(tensor_f32(&out[i])[0], tensor_f32(want)[i],
                   1e-5 * tensor_f32(want)[i]);
    run_back(&node, inputs, (float[]){2, 3},
             (1U << n_rpn_inputs) - (1U << RPN_LOSS_MAPS), dx);
    for (int i = 0; i < n_levels; i++) {
        check_answer(&dx[RPN_LOSS_MAPS + i], answer_at("rpn.dlogits", i));
        check_answer(&dx[RPN_LOSS_MAPS + n_levels + i],
                     answer_at("rpn.dregression", i));
    }
    op_release(out, RPN_LOSS_OUTPUTS);
    op_release(dx, OP_STEP_MAX);
}

/* ---- the heads ---------------------------------------------------------- */

static const struct roi_sample_attrs heads = {
    .match = {.high = 0.5F, .low = 0.5F},
    .sample = {.n = all, .share = 0.25F},
    .weights = {10, 10, 5, 5}};

TEST(if_all_proposals_are_sampled_they_equal_torchvision_s)
{
    static const char *const names[ROI_SAMPLE_OUTPUTS] = {
        "samples.found", "samples.found_counts", "samples.found_labels",
        "samples.found_objects", "samples.found_deltas"};
    struct tensor seed = integers((int64_t[]){3}, dims(1, 1, 0, 0, 0));
    const struct tensor *inputs[] = {
        answer("samples.proposals"), answer("samples.counts"),
        answer("samples.boxes"),     answer("samples.labels"),
        answer("samples.objects"),   &seed};
    struct tensor out[ROI_SAMPLE_OUTPUTS];

    for (int way = 0; way < OP_WAYS; way++) {
        run(&op_roi_sample, &heads, way, inputs, ROI_SAMPLE_INPUTS, out,
            ROI_SAMPLE_OUTPUTS);
        for (int i = 0; i < ROI_SAMPLE_OUTPUTS; i++)
            check_answer(&out[i], answer(names[i]));
        op_release(out, ROI_SAMPLE_OUTPUTS);
    }
    tensor_release(&seed);
}

TEST(the_loss_of_boxes_and_its_slope_equal_torchvision_s)
{
    struct box_loss_attrs attrs = {.beta = 1.0F / 9};
    struct node node = {.op = &op_box_loss,
                        .attrs = &attrs,
                        .n_inputs = BOX_LOSS_INPUTS,
                        .n_outputs = 1};
    const struct tensor *inputs[] = {
        answer("boxes.deltas"), answer("boxes.labels"), answer("boxes.wanted")};
    struct tensor out, dx[OP_STEP_MAX];

    run(&op_box_loss, &attrs, OP_FAST, inputs, BOX_LOSS_INPUTS, &out, 1);
    check_answer(&out, answer("boxes.loss"));
    run_back(&node, inputs, (float[]){3}, 1U << BOX_LOSS_DELTAS, dx);
    check_answer(&dx[BOX_LOSS_DELTAS], answer("boxes.ddeltas"));
    tensor_release(&out);
    op_release(dx, OP_STEP_MAX);
}

TEST(only_objects_go_to_the_mask_head)
{
    static const float boxes[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
    struct tensor in[] = {
        floats(boxes, dims(2, 3, 4, 0, 0)),
        integers((int64_t[]){1, 0, 2}, dims(1, 3, 0, 0, 0)),
        integers((int64_t[]){0, 5, 2}, dims(1, 3, 0, 0, 0)),
        integers((int64_t[]){-1, 7, 4}, dims(1, 3, 0, 0, 0)),
    };
    struct tensor want[] = {
        floats(boxes + 4, dims(2, 2, 4, 0, 0)),
        integers((int64_t[]){0, 0, 2}, dims(1, 3, 0, 0, 0)),
        integers((int64_t[]){5, 2}, dims(1, 2, 0, 0, 0)),
        integers((int64_t[]){7, 4}, dims(1, 2, 0, 0, 0)),
    };
    const struct tensor *inputs[] = {&in[0], &in[1], &in[2], &in[3]};
    struct tensor out[ROI_POSITIVES_PARTS];

    run(&op_roi_positives, NULL, OP_FAST, inputs, ROI_POSITIVES_PARTS, out,
        ROI_POSITIVES_PARTS);
    for (int i = 0; i < ROI_POSITIVES_PARTS; i++)
        check_same(&out[i], &want[i], 0);
    op_release(want, ROI_POSITIVES_PARTS);
    op_release(in, 4);
    op_release(out, ROI_POSITIVES_PARTS);
}

/* ---- masks -------------------------------------------------------------- */

TEST(mask_targets_equal_those_torchvision_cuts_from_resized_masks)
{
    struct mask_targets_attrs attrs = {.size = 28};
    const struct tensor *inputs[] = {
        answer("masks.boxes"),       answer("masks.counts"),
        answer("masks.objects"),     answer("masks.sizes"),
        answer_at("masks.masks", 0), answer_at("masks.masks", 1),
        answer_at("masks.masks", 2)};
    const struct tensor *want = answer("masks.targets");
    struct tensor out;

    for (int way = 0; way < OP_WAYS; way++) {
        run(&op_mask_targets, &attrs, way, inputs,
            sizeof inputs / sizeof *inputs, &out, 1);
        check_answer(&out, want);
        tensor_release(&out);
    }
}

TEST(a_missing_mask_is_refused)
{
    struct mask_targets_attrs attrs = {.size = 28};
    struct tensor in[] = {
        floats((float[]){0, 0, 5, 5}, dims(2, 1, 4, 0, 0)),
        integers((int64_t[]){1}, dims(1, 1, 0, 0, 0)),
        integers((int64_t[]){2}, dims(1, 1, 0, 0, 0)),
        integers((int64_t[]){8, 8}, dims(2, 1, 2, 0, 0)),
        op_tensor(DTYPE_U8, dims(3, 2, 8, 8, 0), NULL),
    };
    const struct tensor *inputs[] = {&in[0], &in[1], &in[2], &in[3], &in[4]};
    struct tensor out;

    CHECK_INT(
        op_run(&op_mask_targets, &attrs, op_ways[OP_FAST], inputs, 5, &out, 1),
        ASSAY_BAD_INPUT);
    CHECK_STR(op_err.text, "image 0 has 2 masks; object 2 is not one of them");
    op_release(in, 5);
}

static struct node mask_node(void)
{
    return (struct node){
        .op = &op_mask_loss, .n_inputs = MASK_LOSS_INPUTS, .n_outputs = 1};
}

TEST(the_loss_of_masks_and_its_slope_equal_torchvision_s)
{
    struct node node = mask_node();
    const struct tensor *inputs[] = {answer("masks.logits"),
                                     answer("masks.labels"),
                                     answer("masks.targets")};
    struct tensor out, dx[OP_STEP_MAX];

    run(&op_mask_loss, NULL, OP_FAST, inputs, MASK_LOSS_INPUTS, &out, 1);
    check_answer(&out, answer("masks.loss"));
    run_back(&node, inputs, (float[]){3}, 1U << MASK_LOSS_LOGITS, dx);
    check_answer(&dx[MASK_LOSS_LOGITS], answer("masks.dlogits"));
    tensor_release(&out);
    op_release(dx, OP_STEP_MAX);
}

TEST(without_objects_the_loss_of_masks_is_zero)
{
    struct node node = mask_node();
    struct tensor in[] = {op_tensor(DTYPE_F32, dims(4, 0, 6, 28, 28), NULL),
                          op_tensor(DTYPE_I64, dims(1, 0, 0, 0, 0), NULL),
                          op_tensor(DTYPE_F32, dims(3, 0, 28, 28, 0), NULL)};
    const struct tensor *inputs[] = {&in[0], &in[1], &in[2]};
    struct tensor out, dx[OP_STEP_MAX];

    run(&op_mask_loss, NULL, OP_FAST, inputs, MASK_LOSS_INPUTS, &out, 1);
    CHECK_NEAR(*tensor_f32(&out), 0, 0);
    run_back(&node, inputs, (float[]){1}, 1U << MASK_LOSS_LOGITS, dx);
    CHECK_INT(tensor_elements(&dx[0]), 0);
    tensor_release(&out);
    op_release(in, 3);
    op_release(dx, OP_STEP_MAX);
}

/* ---- drawing ------------------------------------------------------------ */

enum { n_labels = 400, n_objects = 100, n_drawn = 64 };

/* A quarter are objects, a quarter may not be drawn. */
static void make_labels(int64_t labels[n_labels])
{
    for (int i = 0; i < n_labels; i++)
        labels[i] = i % 4 == 0 ? 1 + i % 3 : i % 4 == 1 ? -1 : 0;
}

static size_t draw(int64_t seed, int64_t image, float share,
                   int64_t chosen[n_drawn])
{
    struct sample_rule rule = {.n = n_drawn, .share = share};
    struct tensor tensor = integers(&seed, dims(1, 1, 0, 0, 0));
    int64_t labels[n_labels];
    size_t n;

    make_labels(labels);
    n = balanced_sample(&rule, sample_start(&tensor, SAMPLE_ANCHORS, image),
                        labels, n_labels, chosen);
    tensor_release(&tensor);
    return n;
}

TEST(a_sample_is_balanced_and_in_order)
{
    int64_t chosen[n_drawn];
    size_t n = draw(5, 0, 0.25F, chosen), n_found = 0;

    CHECK_INT(n, n_drawn);
    for (size_t i = 0; i < n; i++) {
        CHECK(i == 0 || chosen[i] > chosen[i - 1]);
        CHECK(chosen[i] % 4 != 1);
        n_found += chosen[i] % 4 == 0;
    }
    CHECK_INT(n_found, n_drawn / 4);
}

TEST(a_seed_repeats_its_draw_and_another_seed_differs)
{
    int64_t a[n_drawn], b[n_drawn];

    draw(5, 0, 0.5F, a);
    draw(5, 0, 0.5F, b);
    CHECK(memcmp(a, b, sizeof a) == 0);
    draw(6, 0, 0.5F, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
    draw(5, 1, 0.5F, b);
    CHECK(memcmp(a, b, sizeof a) != 0);
}

/* Each object is drawn with a chance of 32 in 100: in 1000 draws 320 times,
 * with a standard deviation of 15. */
TEST(all_objects_are_drawn_equally_often)
{
    int times[n_labels] = {0};

    for (int64_t seed = 0; seed < 1000; seed++) {
        int64_t chosen[n_drawn];
        size_t n = draw(seed, 0, 0.5F, chosen);

        for (size_t i = 0; i < n; i++)
            times[chosen[i]]++;
    }
    for (int i = 0; i < n_labels; i += 4)
        CHECK_NEAR(times[i], 320, 75);
}
