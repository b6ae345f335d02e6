/* tests/ops/fast_kernels_test.c - the fast kernels of the detection ops against
 * the plain ones, on many shapes. */
#include "op_run.h"
#include "ops/detection/detection_transform.h"
#include "ops/detection/mask_ops.h"
#include "ops/detection/roi_align.h"
#include "ops/detection/rpn_top_k.h"
#include "ops/math/score_rank_internal.h"
#include "ops/product/quantize.h"

#include <math.h>

TEST(ranks_sort_by_descending_score_then_index_and_nan_comes_last)
{
    static const float scores[] = {-0.0F, 3, NAN,      -INFINITY,
                                   0,     3, INFINITY, -1};
    static const uint32_t want[] = {6, 1, 5, 0, 4, 7, 3, 2};
    uint64_t ranks[8], scratch[8];

    for (uint32_t i = 0; i < 8; i++)
        ranks[i] = rank_of(scores[i], i);
    rank_sort(ranks, scratch, 8);
    for (int i = 0; i < 8; i++)
        CHECK_INT(rank_index(ranks[i]), want[i]);
}

TEST(many_ranks_are_sorted_too)
{
    struct random random = random_seed(3);
    uint64_t ranks[1000], scratch[1000];

    for (uint32_t i = 0; i < 1000; i++)
        ranks[i] = rank_of((float)random_below(&random, 300) - 150, i);
    rank_sort(ranks, scratch, 1000);
    for (int i = 1; i < 1000; i++)
        CHECK(ranks[i - 1] < ranks[i]);
}

/* Lengths with and without whole vectors, and nothing is written after them. */
TEST(a_table_gives_the_same_at_any_length_and_type)
{
    enum { most = 200 };
    struct random random = random_seed(5);
    uint8_t table[256], x[most], y[most + 1];

    for (int i = 0; i < 256; i++)
        table[i] = (uint8_t)random_below(&random, 256);
    for (int i = 0; i < most; i++)
        x[i] = (uint8_t)random_below(&random, 256);
    for (size_t n = 0; n <= most; n++) {
        y[n] = 77;
        lookup_row(DTYPE_U8, x, table, y, n);
        for (size_t i = 0; i < n; i++)
            CHECK_INT(y[i], table[x[i]]);
        lookup_row(DTYPE_I8, x, table, y, n);
        for (size_t i = 0; i < n; i++)
            CHECK_INT(y[i], table[(int8_t)x[i] + 128]);
        CHECK_INT(y[n], 77);
    }
}

TEST(fast_resizing_equals_the_plain_one_at_any_size)
{
    struct random random = random_seed(11);

    for (int i = 0; i < 40; i++) {
        struct detection_transform_attrs attrs = {
            .size_divisible = 4, .mean = {1, 0, 0}, .std = {2, 1, 1}};
        struct tensor images[3];
        const struct tensor *inputs[3];

        attrs.min_size = 1 + (int64_t)random_below(&random, 90);
        attrs.max_size = attrs.min_size * 4;
        for (int k = 0; k < 3; k++) {
            int64_t side = 1 + (int64_t)random_below(&random, 60);
            struct shape shape =
                dims(3, 3, side, side + (int64_t)random_below(&random, 9), 0);

            images[k] = noise(&random, shape);
            inputs[k] = &images[k];
        }
        compare_ways(&op_detection_transform, &attrs, inputs, 3,
                     TRANSFORM_OUTPUTS, 1e-6);
        op_release(images, 3);
    }
}

/* Few distinct values and some NaNs: ties everywhere. */
static struct tensor coarse_noise(struct random *random, struct shape shape)
{
    struct tensor tensor = op_tensor(DTYPE_F32, shape, NULL);

    for (size_t i = 0; i < tensor_elements(&tensor); i++) {
        uint64_t value = random_below(random, 40);

        tensor_f32(&tensor)[i] = value ? (float)value / 8 - 2 : NAN;
    }
    return tensor;
}

TEST(fast_top_k_equals_the_plain_one_with_ties_and_nan)
{
    struct random random = random_seed(5);

    for (int i = 0; i < 30; i++) {
        struct rpn_top_k_attrs attrs = {.k =
                                            (int64_t)random_below(&random, 90)};
        int64_t side = 1 + (int64_t)random_below(&random, 9);
        struct tensor levels[] = {
            coarse_noise(&random, dims(4, 2, 3, side, side + 2)),
            coarse_noise(&random, dims(4, 2, 3, 1, side))};
        const struct tensor *inputs[] = {&levels[0], &levels[1]};
        struct tensor out[2][3];

        CHECK_STATUS(op_run(&op_rpn_top_k, &attrs, op_ways[OP_REFERENCE],
                            inputs, 2, out[0], 3),
                     ASSAY_OK, &op_err);
        CHECK_STATUS(op_run(&op_rpn_top_k, &attrs, op_ways[OP_TWO_THREADS],
                            inputs, 2, out[1], 3),
                     ASSAY_OK, &op_err);
        for (int k = 0; k < 3; k++) {
            CHECK(memcmp(tensor_data(&out[0][k]), tensor_data(&out[1][k]),
                         tensor_bytes(&out[0][k])) == 0);
            tensor_release(&out[0][k]);
            tensor_release(&out[1][k]);
        }
        op_release(levels, 2);
    }
}

TEST(fast_suppression_keeps_the_same_boxes_as_the_plain_one)
{
    enum { most = 1500 };
    static struct box boxes[most];
    static float scores[most];
    static int64_t groups[most];
    static uint32_t kept[2][most];
    static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 200, 999, 1001, most};
    struct random random = random_seed(17);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct nms_input input = {
            boxes,    scores,    groups,
            sizes[i], 1 + i % 4, (float)random_unit(&random) * 0.9F};
        size_t n;

        random_boxes(&random, boxes, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++) {
            scores[k] = (float)random_below(&random, 500) / 500;
            groups[k] = (int64_t)random_below(&random, input.n_groups);
        }
        n = suppress(op_ways[OP_REFERENCE], &input, kept[0]);
        CHECK_INT(suppress(op_ways[OP_TWO_THREADS], &input, kept[1]), n);
        CHECK(memcmp(kept[0], kept[1], n * sizeof **kept) == 0);
    }
}

/* One group whose classes were moved to places of their own; once with a box
 * that is nowhere, and with more places than there are cells. */
TEST(boxes_far_apart_are_suppressed_as_the_plain_way_does)
{
    enum { most = 1200 };
    static struct box boxes[most];
    static float scores[most];
    static int64_t groups[most];
    static uint32_t kept[2][most];
    static const uint64_t places[] = {2, 20, 300};
    struct random random = random_seed(23);

    for (size_t i = 0; i < 6; i++) {
        struct nms_input input = {boxes, scores, groups, most, 1, 0.4F};
        size_t n;

        random_boxes(&random, boxes, most);
        for (size_t k = 0; k < most; k++) {
            float by = (float)random_below(&random, places[i % 3]) * 161 - 400;

            boxes[k].x1 += by;
            boxes[k].y1 += by;
            boxes[k].x2 += by;
            boxes[k].y2 += by;
            scores[k] = (float)random_below(&random, 500) / 500;
        }
        if (i >= 3)
            boxes[77].x1 = NAN;
        n = suppress(op_ways[OP_REFERENCE], &input, kept[0]);
        CHECK_INT(suppress(op_ways[OP_TWO_THREADS], &input, kept[1]), n);
        CHECK(memcmp(kept[0], kept[1], n * sizeof **kept) == 0);
    }
}

/* Inputs of a random case: boxes, counts, sizes, two maps. */
struct pooling {
    struct tensor t[5];
    const struct tensor *inputs[5];
    struct roi_align_attrs attrs;
};

static struct pooling random_pooling(struct random *random)
{
    int64_t n[2] = {(int64_t)random_below(random, 20),
                    (int64_t)random_below(random, 20)};
    int64_t channels = 1 + (int64_t)random_below(random, 40);
    static const int64_t sizes[] = {64, 96, 60, 90};
    struct pooling p = {
        .attrs = {.size = 1 + (int64_t)random_below(random, 9),
                  .sampling_ratio = 1 + (int64_t)random_below(random, 4),
                  .canonical_size = 60,
                  .canonical_level = 3}};

    p.t[0] = floats(NULL, dims(2, n[0] + n[1], 4, 0, 0));
    p.t[1] = integers(n, dims(1, 2, 0, 0, 0));
    p.t[2] = integers(sizes, dims(2, 2, 2, 0, 0));
    p.t[3] = noise(random, dims(4, 2, channels, 16, 24));
    p.t[4] = noise(random, dims(4, 2, channels, 8, 12));
    random_boxes(random, tensor_boxes(&p.t[0]), (size_t)(n[0] + n[1]));
    if (n[0] > 2) {
        tensor_boxes(&p.t[0])[0] = (struct box){-90, -70, 300, 500};
        tensor_boxes(&p.t[0])[1] = (struct box){NAN, 3, 9, 9};
        tensor_boxes(&p.t[0])[2] = (struct box){9, 3, 9, 3};
    }
    return p;
}

TEST(fast_pooling_equals_the_plain_one)
{
    struct random random = random_seed(23);

    for (int i = 0; i < 40; i++) {
        struct pooling p = random_pooling(&random);

        for (int k = 0; k < 5; k++)
            p.inputs[k] = &p.t[k];
        compare_ways(&op_roi_align, &p.attrs, p.inputs, 5, 1, 2e-6);
        op_release(p.t, 5);
    }
}

/* Where an element of a dense map is in one with blocks of `size` channels. */
static int64_t place_in_blocks(const int64_t *dims, int64_t size, int64_t i)
{
    int64_t plane = dims[2] * dims[3], n_blocks = (dims[1] + size - 1) / size;
    int64_t image = i / (dims[1] * plane), channel = i / plane % dims[1];
    int64_t block = image * n_blocks + channel / size;

    return (block * plane + i % plane) * size + channel % size;
}

/* The map in blocks of channels; the rest of the last block is NaN. */
static struct tensor block_map(const struct tensor *map, int64_t size,
                               struct roi_map *out)
{
    const int64_t *d = map->shape.dims;
    int64_t n_blocks = (d[1] + size - 1) / size;
    struct tensor to = floats(NULL, dims(4, d[0], n_blocks * size, d[2], d[3]));

    for (size_t i = 0; i < tensor_elements(&to); i++)
        tensor_f32(&to)[i] = NAN;
    for (size_t i = 0; i < tensor_elements(map); i++)
        tensor_f32(&to)[place_in_blocks(d, size, (int64_t)i)] =
            tensor_f32(map)[i];
    *out = (struct roi_map){.data = tensor_f32(&to),
                            .n_images = d[0],
                            .channels = d[1],
                            .height = d[2],
                            .width = d[3],
                            .block = size};
    return to;
}

TEST(maps_in_blocks_of_channels_are_pooled_the_same)
{
    struct op_context context = {.pool = op_pool(), .n_threads = 2};
    struct random random = random_seed(29);

    for (int i = 0; i < 40; i++) {
        struct pooling p = random_pooling(&random);
        struct node node = {.op = &op_roi_align, .attrs = &p.attrs};
        struct roi_map maps[2];
        struct tensor blocked[2], out, same;

        for (int k = 0; k < 5; k++)
            p.inputs[k] = &p.t[k];
        for (int k = 0; k < 2; k++)
            blocked[k] = block_map(&p.t[3 + k], i % 4 < 2 ? 8 : 16, &maps[k]);
        CHECK_STATUS(op_run(&op_roi_align, &p.attrs, op_ways[OP_TWO_THREADS],
                            p.inputs, 5, &out, 1),
                     ASSAY_OK, &op_err);
        same = floats(NULL, out.shape);
        CHECK_STATUS(
            roi_align_maps(&context, &node, p.inputs, maps, 2, &same, &op_err),
            ASSAY_OK, &op_err);
        check_same(&same, &out, 2e-6);
        context.is_reference = !context.is_reference;
        op_release(blocked, 2);
        op_release(p.t, 5);
        tensor_release(&out);
        tensor_release(&same);
    }
}

/* The gradient of both maps, in that layout. */
static void pool_backwards(struct pooling *p, const struct roi_map *maps,
                           const struct tensor *dy, struct tensor *dx)
{
    struct op_context context = {.pool = op_pool(), .n_threads = 2};
    struct node node = {.op = &op_roi_align, .attrs = &p->attrs};
    float *each[] = {tensor_f32(&dx[0]), tensor_f32(&dx[1])};

    for (int k = 0; k < 2; k++)
        memset(each[k], 0, tensor_bytes(&dx[k]));
    CHECK_STATUS(roi_align_maps_backward(&context, &node, p->inputs, maps, 2,
                                         dy, each, &op_err),
                 ASSAY_OK, &op_err);
}

static void check_blocked_gradients(struct pooling *p, const struct tensor *dy,
                                    int64_t size)
{
    struct roi_map dense[2], maps[2];
    struct tensor same[2], blocked[2];

    for (int k = 0; k < 2; k++) {
        same[k] = floats(NULL, p->t[3 + k].shape);
        blocked[k] = block_map(&p->t[3 + k], size, &maps[k]);
        dense[k] = maps[k];
        dense[k].block = 0;
    }
    pool_backwards(p, dense, dy, same);
    pool_backwards(p, maps, dy, blocked);
    for (int k = 0; k < 2; k++) {
        const int64_t *d = same[k].shape.dims;

        for (size_t i = 0; i < tensor_elements(&same[k]); i++)
            CHECK_NEAR(
                tensor_f32(&blocked[k])[place_in_blocks(d, size, (int64_t)i)],
                tensor_f32(&same[k])[i],
                2e-5 * (1 + fabsf(tensor_f32(&same[k])[i])));
    }
    op_release(same, 2);
    op_release(blocked, 2);
}

TEST(gradients_of_maps_in_blocks_are_those_of_dense_ones)
{
    struct random random = random_seed(31);

    for (int i = 0; i < 20; i++) {
        struct pooling p = random_pooling(&random);
        int64_t size = p.attrs.size;
        struct tensor dy =
            noise(&random, dims(4, p.t[0].shape.dims[0], p.t[3].shape.dims[1],
                                size, size));

        for (int k = 0; k < 5; k++)
            p.inputs[k] = &p.t[k];
        check_blocked_gradients(&p, &dy, i % 2 ? 8 : 16);
        op_release(p.t, 5);
        tensor_release(&dy);
    }
}

TEST(fast_pasting_equals_the_plain_one_wherever_the_box_is)
{
    struct random random = random_seed(31);

    for (int i = 0; i < 20; i++) {
        struct paste_masks_attrs attrs = {.is_soft = i % 2};
        int64_t n = 8, side = 1 + (int64_t)random_below(&random, 30);
        int64_t size[] = {1 + (int64_t)random_below(&random, 90),
                          1 + (int64_t)random_below(&random, 90)};
        struct tensor t[] = {noise(&random, dims(4, n, 1, side, side)),
                             floats(NULL, dims(2, n, 4, 0, 0)),
                             integers(&n, dims(1, 1, 0, 0, 0)),
                             integers(size, dims(2, 1, 2, 0, 0))};
        const struct tensor *inputs[] = {&t[0], &t[1], &t[2], &t[3]};
        struct box *boxes = tensor_boxes(&t[1]);

        random_boxes(&random, boxes, (size_t)n);
        boxes[0] = (struct box){NAN, 0, 1, 1};
        boxes[1] = (struct box){-1e30F, -INFINITY, 1e30F, INFINITY};
        boxes[2] = (struct box){9, 9, 3, 3};
        boxes[3] = (struct box){-400, -400, -300, -300};
        compare_ways(&op_paste_masks, &attrs, inputs, 4, 1, 1e-6);
        op_release(t, 4);
    }
}
