/* tests/backend/cuda_detection_test.c - proposals and detections on a GPU are
 * those of the portable kernels, in the same order. Skips without one. */
#include "test.h"

#include "base/random.h"
#include "engine/engine.h"
#include "ops/detection/anchor_grid.h"
#include "ops/detection/anchor_match.h"
#include "ops/detection/anchor_sample.h"
#include "ops/detection/box_detections.h"
#include "ops/detection/box_select.h"
#include "ops/detection/rpn_nms.h"
#include "ops/detection/rpn_top_k.h"
#include "ops/ops.h"

#include <math.h>
#include <string.h>

enum { n_images = 2, n_levels = 2, n_ratios = 3, n_classes = 5, most = 16 };

struct detector {
    struct pool *pool;
    struct graph *graph;
    struct tensor inputs[most];
    size_t n_inputs;
    struct random random;
};

static void detector_start(struct detector *d)
{
    struct error err = {0};

    *d = (struct detector){0};
    CHECK_STATUS(pool_new(&d->pool, &err), ASSAY_OK, &err);
    CHECK_STATUS(graph_new(&d->graph, &err), ASSAY_OK, &err);
    d->random = random_seed(7);
}

static void detector_release(struct detector *d)
{
    for (size_t i = 0; i < d->n_inputs; i++)
        tensor_release(&d->inputs[i]);
    graph_free(d->graph);
    pool_free(d->pool);
}

/* An input of floats between two bounds; few different ones where `steps` is
 * set, so that some are equal. */
static uint32_t add_floats(struct detector *d, struct shape shape, float from,
                           float to, double steps)
{
    struct error err = {0};
    struct tensor *x = &d->inputs[d->n_inputs++];
    uint32_t value;

    CHECK_STATUS(tensor_new(d->pool, DTYPE_F32, &shape, x, &err), ASSAY_OK,
                 &err);
    for (size_t i = 0; i < tensor_elements(x); i++) {
        double unit = random_unit(&d->random);

        if (steps > 0)
            unit = floor(unit * steps) / steps;
        tensor_f32(x)[i] = from + (to - from) * (float)unit;
    }
    CHECK_STATUS(graph_input(d->graph, "x", DTYPE_F32, &value, &err), ASSAY_OK,
                 &err);
    return value;
}

static uint32_t add_numbers(struct detector *d, struct shape shape,
                            const int64_t *numbers)
{
    struct error err = {0};
    struct tensor *x = &d->inputs[d->n_inputs++];
    uint32_t value;

    CHECK_STATUS(tensor_new(d->pool, DTYPE_I64, &shape, x, &err), ASSAY_OK,
                 &err);
    memcpy(tensor_data(x), numbers, tensor_bytes(x));
    CHECK_STATUS(graph_input(d->graph, "n", DTYPE_I64, &value, &err), ASSAY_OK,
                 &err);
    return value;
}

static void add_node(struct detector *d, const struct op_class *op,
                     const void *attrs, const uint32_t *inputs, size_t n,
                     uint32_t *outputs, size_t n_outputs)
{
    struct node_description node = {.op = op,
                                    .attrs = attrs,
                                    .scope = GRAPH_NONE,
                                    .inputs = inputs,
                                    .n_inputs = n,
                                    .n_outputs = n_outputs};
    struct error err = {0};

    CHECK_STATUS(graph_node_add(d->graph, &node, outputs, &err), ASSAY_OK,
                 &err);
    for (size_t i = 0; i < n_outputs; i++)
        CHECK_STATUS(graph_output(d->graph, "y", outputs[i], &err), ASSAY_OK,
                     &err);
}

static void detector_run(struct detector *d, const struct device *device,
                         struct tensor *outputs)
{
    struct engine_options options = {
        .device = device,
        .backend_options = {.precision = PRECISION_FP32, .n_threads = 2}};
    struct engine *engine;
    struct error err = {0};

    CHECK_STATUS(engine_new(d->graph, d->pool, &options, &engine, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(engine_run(engine, d->inputs, outputs, &err), ASSAY_OK, &err);
    engine_free(engine);
}

/* Floats within a few units in the last place of the largest, the rest bit for
 * bit. */
static void check_same(const struct tensor *got, const struct tensor *want)
{
    CHECK_INT(got->dtype, want->dtype);
    CHECK(shape_equal(&got->shape, &want->shape));
    if (want->dtype != DTYPE_F32) {
        CHECK(memcmp(tensor_data(got), tensor_data(want), tensor_bytes(want)) ==
              0);
        return;
    }
    for (size_t i = 0; i < tensor_elements(want); i++) {
        double w = (double)tensor_f32(want)[i];

        CHECK(fabs((double)tensor_f32(got)[i] - w) <= 1e-4 + 1e-6 * fabs(w));
    }
}

static void check_detector(struct detector *d)
{
    const struct device *gpu;
    struct error err = {0};
    size_t n = graph_output_count(d->graph);
    struct tensor want[32] = {{0}}, got[32] = {{0}};

    CHECK(n <= 32);
    detector_run(d, &device_portable, want);
    if (device_find("cuda:0", &gpu, &err)) {
        for (size_t i = 0; i < n; i++)
            tensor_release(&want[i]);
        detector_release(d);
        SKIP("there is no GPU");
    }
    detector_run(d, gpu, got);
    for (size_t i = 0; i < n; i++) {
        check_same(&got[i], &want[i]);
        tensor_release(&got[i]);
        tensor_release(&want[i]);
    }
    detector_release(d);
}

/* Anchors, the best of each level with many equal scores, boxes, NMS. */
static void check_proposals(int64_t side, int64_t k, double steps)
{
    static const int64_t sizes[] = {150, 160, 160, 140};
    struct anchor_grid_attrs grid = {.n_levels = n_levels,
                                     .n_ratios = n_ratios,
                                     .sizes = {24, 48},
                                     .ratios = {0.5F, 1, 2}};
    struct rpn_top_k_attrs top = {.k = k};
    struct rpn_nms_attrs nms = {1e-3F, 0, 0.7F, k};
    uint32_t maps[n_levels], deltas[n_levels], made[8], in[8];
    struct detector d;

    detector_start(&d);
    in[0] = add_floats(
        &d,
        shape_of(4, (int64_t)n_images, (int64_t)3, (int64_t)160, (int64_t)160),
        0, 1, 0);
    for (int64_t i = 0; i < n_levels; i++) {
        int64_t s = side >> i;

        maps[i] = add_floats(
            &d, shape_of(4, (int64_t)n_images, (int64_t)n_ratios, s, s), -4, 4,
            steps);
        deltas[i] = add_floats(
            &d, shape_of(4, (int64_t)n_images, (int64_t)(4 * n_ratios), s, s),
            -1, 1, 0);
        in[1 + i] = maps[i];
    }
    add_node(&d, &op_anchor_grid, &grid, in, 1 + n_levels, &made[0], 1);
    add_node(&d, &op_rpn_top_k, &top, maps, n_levels, &made[1], 3);
    in[0] = made[2];
    in[1] = made[3];
    in[2] = made[0];
    in[3] = add_numbers(&d, shape_of(2, (int64_t)n_images, (int64_t)2), sizes);
    memcpy(in + 4, deltas, sizeof deltas);
    add_node(&d, &op_rpn_decode, NULL, in, 4 + n_levels, &made[4], 1);
    in[0] = made[4];
    in[1] = made[1];
    in[2] = made[3];
    add_node(&d, &op_rpn_nms, &nms, in, 3, &made[5], 3);
    check_detector(&d);
}

TEST(proposals_on_a_gpu_are_those_of_the_host)
{
    check_proposals(20, 100, 0);
}

TEST(equal_scores_keep_their_order_on_a_gpu)
{
    check_proposals(40, 1000, 16);
}

/* ONNX's: every class of two images, with a limit of each kind. */
static void check_select(bool is_centred, int64_t per_class)
{
    static const int64_t one = 1;
    struct box_select_attrs attrs = {.is_centred = is_centred};
    int64_t limit[] = {per_class};
    uint32_t in[5], made;
    struct detector d;

    detector_start(&d);
    in[0] = add_floats(
        &d, shape_of(3, (int64_t)n_images, (int64_t)500, (int64_t)4), 0, 60, 0);
    in[1] = add_floats(
        &d, shape_of(3, (int64_t)n_images, (int64_t)n_classes, (int64_t)500), 0,
        1, 64);
    in[2] = add_numbers(&d, shape_of(1, one), limit);
    in[3] = add_floats(&d, shape_of(1, one), 0.3F, 0.3F, 0);
    in[4] = add_floats(&d, shape_of(1, one), 0.4F, 0.4F, 0);
    add_node(&d, &op_box_select, &attrs, in, 5, &made, 1);
    check_detector(&d);
}

TEST(boxes_that_onnx_selects_on_a_gpu_are_those_of_the_host)
{
    check_select(false, 1000);
    check_select(true, 7);
}

/* Rows of two images; every class of many scores enough. */
TEST(detections_on_a_gpu_are_those_of_the_host)
{
    static const int64_t counts[] = {300, 200};
    static const int64_t sizes[] = {150, 160, 160, 140};
    static const int64_t original[] = {300, 310, 80, 70};
    struct box_detections_attrs attrs = {
        {10, 10, 5, 5}, 0.05F, 1e-2F, 0.5F, 100};
    uint32_t in[8], made[4], boxes, n;
    struct detector d;

    detector_start(&d);
    in[0] = add_floats(&d, shape_of(2, (int64_t)500, (int64_t)n_classes), -2, 2,
                       32);
    in[1] = add_floats(&d, shape_of(2, (int64_t)500, (int64_t)(4 * n_classes)),
                       -2, 2, 0);
    in[2] = add_floats(&d, shape_of(2, (int64_t)500, (int64_t)4), 0, 150, 0);
    for (size_t i = 0; i < 500; i++) {
        tensor_f32(&d.inputs[2])[4 * i + 2] += 20;
        tensor_f32(&d.inputs[2])[4 * i + 3] += 20;
    }
    in[3] = add_numbers(&d, shape_of(1, (int64_t)n_images), counts);
    in[4] = add_numbers(&d, shape_of(2, (int64_t)n_images, (int64_t)2), sizes);
    add_node(&d, &op_box_detections, &attrs, in, 5, made, 4);
    n = in[4];
    in[0] = made[0];
    in[1] = made[3];
    in[2] = n;
    in[3] =
        add_numbers(&d, shape_of(2, (int64_t)n_images, (int64_t)2), original);
    add_node(&d, &op_resize_boxes, NULL, in, 4, &boxes, 1);
    check_detector(&d);
}

/* Boxes of random places and sizes as anchors; objects of two images, of which
 * one overlaps no anchor. */
TEST(anchors_are_matched_and_drawn_on_a_gpu_as_on_the_host)
{
    enum { n_anchors = 20000, n_objects = 7 };
    static const int64_t counts[] = {4, 3}, seed[] = {11};
    struct anchor_match_attrs match = {
        .rule = {.high = 0.7F, .low = 0.3F, .keeps_best = true}};
    struct anchor_sample_attrs sample = {.rule = {.n = 256, .share = 0.5F}};
    uint32_t in[4], made[3], matches;
    struct detector d;

    detector_start(&d);
    in[0] =
        add_floats(&d, shape_of(2, (int64_t)n_anchors, (int64_t)4), 0, 150, 0);
    in[1] =
        add_floats(&d, shape_of(2, (int64_t)n_objects, (int64_t)4), 0, 150, 0);
    for (size_t i = 0; i < n_anchors; i++) {
        for (size_t k = 0; k < 2; k++) {
            float *box = tensor_f32(&d.inputs[0]) + 4 * i;

            box[2 + k] = box[k] + 5 + box[2 + k] / 2;
        }
    }
    for (size_t i = 0; i < n_objects; i++) {
        for (size_t k = 0; k < 2; k++) {
            float *box = tensor_f32(&d.inputs[1]) + 4 * i;

            box[k] += i == 2 ? 1000 : 0;
            box[2 + k] = box[k] + 20 + box[2 + k] / 3;
        }
    }
    in[2] = add_numbers(&d, shape_of(1, (int64_t)n_images), counts);
    add_node(&d, &op_anchor_match, &match, in, ANCHOR_MATCH_INPUTS, &matches,
             1);
    in[ANCHOR_SAMPLE_BOXES] = in[ANCHOR_MATCH_BOXES];
    in[ANCHOR_SAMPLE_ANCHORS] = in[ANCHOR_MATCH_ANCHORS]; /* from 0 to 1 */
    in[ANCHOR_SAMPLE_MATCHES] = matches;
    in[ANCHOR_SAMPLE_SEED] = add_numbers(&d, shape_of(1, (int64_t)1), seed);
    add_node(&d, &op_anchor_sample, &sample, in, ANCHOR_SAMPLE_INPUTS, made,
             ANCHOR_SAMPLE_OUTPUTS);
    check_detector(&d);
}
