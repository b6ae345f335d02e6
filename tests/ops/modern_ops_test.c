/* Ops that ONNX has since opset 18, each against another way to compute the
 * same. */
#include "ops/convolution/conv2d.h"
#include "ops/convolution/deform_conv.h"
#include "ops/math/arg_max.h"
#include "ops/math/bit_cast.h"
#include "ops/math/cast.h"
#include "ops/movement/affine_grid.h"
#include "ops/movement/center_crop_pad.h"
#include "ops/movement/col2im.h"
#include "ops/movement/resize.h"
#include "ops/movement/tensor_scatter.h"
#include "ops/norm/group_norm.h"
#include "ops/norm/normalize.h"
#include "ops/op_run.h"
#include "ops/product/linear_attention.h"
#include "ops/product/quantize.h"
#include "ops/sequence/signal.h"

#include <math.h>

static void run(const struct op_class *op, const void *attrs,
                const struct tensor *const *inputs, size_t n, struct tensor *y,
                size_t n_outputs)
{
    CHECK_STATUS(
        op_run(op, attrs, op_ways[OP_TWO_THREADS], inputs, n, y, n_outputs),
        ASSAY_OK, &op_err);
}

#define INPUTS(...)                                                            \
    (const struct tensor *[]){__VA_ARGS__},                                    \
        sizeof((const struct tensor *[]){__VA_ARGS__}) / sizeof(void *)

static enum assay_status refused(const struct op_class *op, const void *attrs,
                                 const struct tensor *const *inputs, size_t n)
{
    struct tensor y;

    return op_run(op, attrs, op_ways[OP_FAST], inputs, n, &y, 1);
}

static struct tensor list(size_t n, const int64_t *numbers)
{
    return integers(numbers, dims(1, (int64_t)n, 0, 0, 0));
}

/* ---- norms --------------------------------------------------------------- */

TEST(a_group_of_one_channel_is_an_instance_and_one_group_is_a_layer)
{
    struct random random = random_seed(1);
    struct tensor x = noise(&random, dims(4, 2, 6, 3, 5));
    struct tensor scale = noise(&random, dims(1, 6, 0, 0, 0));
    struct tensor bias = noise(&random, dims(1, 6, 0, 0, 0)), got, want;
    struct tensor ones = op_tensor(DTYPE_F32, dims(1, 6, 0, 0, 0), NULL);
    struct tensor zeros = op_tensor(DTYPE_F32, dims(1, 6, 0, 0, 0), NULL);
    struct tensor whole = op_tensor(DTYPE_F32, dims(3, 6, 3, 5, 0), NULL);
    struct group_norm_attrs groups = {.groups = 6, .eps = 1e-3F};
    struct normalize_attrs usual = {.eps = 1e-3F, .axis = 1};

    run(&op_group_norm, &groups, INPUTS(&x, &scale, &bias), &got, 1);
    run(&op_instance_norm, &usual, INPUTS(&x, &scale, &bias), &want, 1);
    check_same(&got, &want, 1e-5);
    op_release((struct tensor[]){got, want}, 2);
    for (size_t i = 0; i < 6; i++)
        tensor_f32(&ones)[i] = 1;
    for (size_t i = 0; i < 90; i++)
        tensor_f32(&whole)[i] = 1;
    groups.groups = 1;
    run(&op_group_norm, &groups, INPUTS(&x, &ones, &zeros), &got, 1);
    run(&op_layer_norm, &usual, INPUTS(&x, &whole), &want, 1);
    check_same(&got, &want, 1e-5);
    groups.groups = 4;
    CHECK_INT(refused(&op_group_norm, &groups, INPUTS(&x, &scale, &bias)),
              ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "6 channels cannot be divided into 4 groups");
    op_release((struct tensor[]){x, scale, bias, got, want, ones, zeros, whole},
               8);
}

TEST(after_an_rms_norm_the_mean_square_is_one)
{
    static const float two = 2;
    struct random random = random_seed(2);
    struct tensor x = noise(&random, dims(3, 4, 3, 50, 0)), y;
    struct tensor scale = floats(&two, dims(0, 0, 0, 0, 0));
    struct rms_norm_attrs attrs = {.axis = -2};

    run(&op_rms_norm, &attrs, INPUTS(&x, &scale), &y, 1);
    for (int line = 0; line < 4; line++) {
        double sum = 0;

        for (int i = 0; i < 150; i++) {
            float value = tensor_f32(&y)[line * 150 + i];

            sum += (double)value * (double)value;
            CHECK(signbit(value) == signbit(tensor_f32(&x)[line * 150 + i]));
        }
        CHECK_NEAR(sum / 150, 4, 1e-5);
    }
    op_release((struct tensor[]){x, y, scale}, 3);
}

/* ---- bits ---------------------------------------------------------------- */

TEST(bits_stay_and_sizes_must_be_equal)
{
    static const float one = 1;
    struct tensor x = floats(&one, dims(0, 0, 0, 0, 0)), y;
    struct bit_cast_attrs attrs = {.dtype = DTYPE_I32};

    run(&op_bit_cast, &attrs, INPUTS(&x), &y, 1);
    CHECK_INT(*(int32_t *)tensor_data(&y), 0x3f800000);
    attrs.dtype = DTYPE_I64;
    CHECK_INT(refused(&op_bit_cast, &attrs, INPUTS(&x)), ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "float32 has 4 bytes and int64 has 8");
    attrs.dtype = DTYPE_U4;
    CHECK_INT(refused(&op_bit_cast, &attrs, INPUTS(&x)), ASSAY_BAD_INPUT);
    op_release((struct tensor[]){x, y}, 2);
}

TEST(bitwise_ops_work_in_every_width)
{
    static const int8_t of_a[] = {-1, 0x55, -128}, of_b[] = {0x0f, 0x33, 1};
    struct tensor a = op_tensor(DTYPE_I8, dims(1, 3, 0, 0, 0), of_a), y[4];
    struct tensor b = op_tensor(DTYPE_I8, dims(1, 3, 0, 0, 0), of_b);
    static const uint64_t no_attrs[4];

    run(&op_bitwise_and, no_attrs, INPUTS(&a, &b), &y[0], 1);
    run(&op_bitwise_or, no_attrs, INPUTS(&a, &b), &y[1], 1);
    run(&op_bitwise_xor, no_attrs, INPUTS(&a, &b), &y[2], 1);
    run(&op_bitwise_not, no_attrs, INPUTS(&a), &y[3], 1);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(((int8_t *)tensor_data(&y[0]))[i], of_a[i] & of_b[i]);
        CHECK_INT(((int8_t *)tensor_data(&y[1]))[i], of_a[i] | of_b[i]);
        CHECK_INT(((int8_t *)tensor_data(&y[2]))[i], of_a[i] ^ of_b[i]);
        CHECK_INT(((int8_t *)tensor_data(&y[3]))[i], ~of_a[i]);
    }
    op_release((struct tensor[]){a, b, y[0], y[1], y[2], y[3]}, 6);
}

TEST(products_are_cumulated_in_all_four_ways)
{
    static const int32_t numbers[] = {2, 3, 5};
    static const int32_t want[4][3] = {
        {2, 6, 30}, {1, 2, 6}, {30, 15, 5}, {15, 5, 1}};
    static const int64_t zero = 0;
    struct tensor x = op_tensor(DTYPE_I32, dims(1, 3, 0, 0, 0), numbers), y;
    struct tensor axis = integers(&zero, dims(0, 0, 0, 0, 0));

    for (int i = 0; i < 4; i++) {
        struct cum_sum_attrs attrs = {.is_exclusive = i & 1,
                                      .is_reverse = i & 2};

        run(&op_cum_prod, &attrs, INPUTS(&x, &axis), &y, 1);
        CHECK(memcmp(tensor_data(&y), want[i], sizeof want[i]) == 0);
        tensor_release(&y);
    }
    op_release((struct tensor[]){x, axis}, 2);
}

TEST(casts_to_float8_overflow_if_they_are_told_to)
{
    static const float numbers[] = {1e6F, -3};
    struct tensor x = floats(numbers, dims(1, 2, 0, 0, 0)), y;
    struct cast_attrs attrs = {.dtype = DTYPE_F8E5M2};

    run(&op_cast, &attrs, INPUTS(&x), &y, 1);
    CHECK_INT(((uint8_t *)tensor_data(&y))[0], 0x7b);
    CHECK_INT(((uint8_t *)tensor_data(&y))[1], 0xc2);
    tensor_release(&y);
    attrs.overflows = true;
    run(&op_cast, &attrs, INPUTS(&x), &y, 1);
    CHECK_INT(((uint8_t *)tensor_data(&y))[0], 0x7c);
    op_release((struct tensor[]){x, y}, 2);
}

/* ---- pictures ------------------------------------------------------------ */

TEST(without_offsets_a_deformable_convolution_is_a_convolution)
{
    struct random random = random_seed(5);
    struct tensor x = noise(&random, dims(4, 2, 4, 9, 7));
    struct tensor w = noise(&random, dims(4, 6, 2, 3, 3)), got, want;
    struct tensor bias = noise(&random, dims(1, 6, 0, 0, 0));
    struct tensor offset =
        op_tensor(DTYPE_F32, dims(4, 2, 2 * 9 * 2, 5, 4), NULL);
    struct deform_conv_attrs attrs = {.window = {.rank = 2,
                                                 .kernel = {3, 3},
                                                 .stride = {2, 2},
                                                 .dilation = {1, 1},
                                                 .before = {1, 1},
                                                 .after = {1, 1}},
                                      .groups = 2,
                                      .offset_groups = 2};
    struct conv2d_attrs conv = conv2d_defaults();

    for (int i = 0; i < 2; i++)
        conv.stride[i] = 2, conv.before[i] = conv.after[i] = 1;
    conv.groups = 2;
    run(&op_deform_conv, &attrs, INPUTS(&x, &w, &offset, &bias), &got, 1);
    run(&op_conv2d, &conv, INPUTS(&x, &w, &bias, NULL), &want, 1);
    check_same(&got, &want, 1e-4);
    op_release((struct tensor[]){x, w, bias, offset, got, want}, 6);
}

TEST(an_offset_of_one_pixel_reads_the_next_and_a_mask_weighs_it)
{
    static const float picture[] = {1, 2, 3, 4}, one = 1;
    static const float moved[] = {0, 0, 0, 0, 1, 1, 0.5F, 1};
    static const float mask[] = {1, 1, 1, 0.5F};
    struct tensor x = floats(picture, dims(4, 1, 1, 2, 2)), y;
    struct tensor w = floats(&one, dims(4, 1, 1, 1, 1));
    struct tensor offset = floats(moved, dims(4, 1, 2, 2, 2));
    struct tensor masks = floats(mask, dims(4, 1, 1, 2, 2));
    struct deform_conv_attrs attrs = {.window = {.rank = 2,
                                                 .kernel = {1, 1},
                                                 .stride = {1, 1},
                                                 .dilation = {1, 1}},
                                      .groups = 1,
                                      .offset_groups = 1};

    run(&op_deform_conv, &attrs, INPUTS(&x, &w, &offset, NULL, &masks), &y, 1);
    CHECK_NEAR(tensor_f32(&y)[0], 2, 1e-6);
    CHECK_NEAR(tensor_f32(&y)[1], 0, 1e-6); /* outside */
    CHECK_NEAR(tensor_f32(&y)[2], 3.5, 1e-6);
    CHECK_NEAR(tensor_f32(&y)[3], 0, 1e-6);
    op_release((struct tensor[]){x, w, offset, masks, y}, 5);
}

TEST(columns_of_ones_count_how_many_patches_cover_a_pixel)
{
    static const int64_t sizes[] = {3, 4}, patch[] = {2, 2};
    static const float want[] = {1, 2, 2, 1, 2, 4, 4, 2, 1, 2, 2, 1};
    struct tensor x = op_tensor(DTYPE_F32, dims(3, 1, 4, 6, 0), NULL), y;
    struct tensor in[] = {list(2, sizes), list(2, patch)};
    struct col2im_attrs attrs = {
        .window = {
            .rank = 2, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}}};

    for (size_t i = 0; i < 24; i++)
        tensor_f32(&x)[i] = 1;
    run(&op_col2im, &attrs, INPUTS(&x, &in[0], &in[1]), &y, 1);
    for (size_t i = 0; i < 12; i++)
        CHECK_NEAR(tensor_f32(&y)[i], want[i], 0);
    attrs.window.stride[0] = 2;
    CHECK_INT(refused(&op_col2im, &attrs, INPUTS(&x, &in[0], &in[1])),
              ASSAY_BAD_INPUT);
    op_release((struct tensor[]){x, in[0], in[1], y}, 4);
}

TEST(the_identity_gives_each_pixel_its_own_place)
{
    static const float same[] = {1, 0, 0, 0, 1, 0};
    static const int64_t size[] = {1, 3, 2, 4};
    struct tensor theta = floats(same, dims(3, 1, 2, 3, 0)), y;
    struct tensor sizes = list(4, size);
    struct affine_grid_attrs attrs = {.aligns_corners = true};

    run(&op_affine_grid, &attrs, INPUTS(&theta, &sizes), &y, 1);
    CHECK_INT(y.shape.dims[3], 2);
    CHECK_NEAR(tensor_f32(&y)[0], -1, 1e-6);
    CHECK_NEAR(tensor_f32(&y)[14], 1, 1e-6);
    CHECK_NEAR(tensor_f32(&y)[15], 1, 1e-6);
    tensor_release(&y);
    attrs.aligns_corners = false;
    run(&op_affine_grid, &attrs, INPUTS(&theta, &sizes), &y, 1);
    CHECK_NEAR(tensor_f32(&y)[0], -0.75, 1e-6);
    CHECK_NEAR(tensor_f32(&y)[1], -0.5, 1e-6);
    op_release((struct tensor[]){theta, sizes, y}, 3);
}

TEST(the_middle_stays_whether_cropped_or_padded)
{
    static const int64_t numbers[] = {1, 2, 3, 4, 5}, two[] = {2},
                         eight[] = {8};
    static const int64_t padded[] = {0, 1, 2, 3, 4, 5, 0, 0};
    struct tensor x = list(5, numbers), y,
                  in[] = {list(1, two), list(1, eight)};
    struct center_crop_pad_attrs attrs = {0};

    run(&op_center_crop_pad, &attrs, INPUTS(&x, &in[0]), &y, 1);
    CHECK_INT(tensor_i64(&y)[0], 2);
    CHECK_INT(tensor_i64(&y)[1], 3);
    tensor_release(&y);
    run(&op_center_crop_pad, &attrs, INPUTS(&x, &in[1]), &y, 1);
    CHECK(memcmp(tensor_data(&y), padded, sizeof padded) == 0);
    op_release((struct tensor[]){x, y, in[0], in[1]}, 4);
}

TEST(an_antialiased_picture_is_the_mean_of_what_it_covers)
{
    static const float numbers[] = {0, 8, 0, 8, 0, 8, 0, 8};
    static const int64_t sizes[] = {2};
    struct tensor x = floats(numbers, dims(1, 8, 0, 0, 0)), y;
    struct tensor size = list(1, sizes);
    struct resize_attrs attrs = {.mode = RESIZE_LINEAR,
                                 .place = RESIZE_HALF_PIXEL,
                                 .excludes_outside = true};

    /* Between two neighbours, others do not count. */
    run(&op_resize, &attrs, INPUTS(&x, NULL, NULL, &size), &y, 1);
    CHECK_NEAR(tensor_f32(&y)[0], 4, 1e-6);
    tensor_release(&y);
    attrs.antialias = true;
    run(&op_resize, &attrs, INPUTS(&x, NULL, NULL, &size), &y, 1);
    /* A triangle of 4 to each side of 1.5: weights 2.5 3.5 3.5 2.5 1.5 .5. */
    CHECK_NEAR(tensor_f32(&y)[0], 8 * (3.5 + 2.5 + .5) / 14, 1e-5);
    op_release((struct tensor[]){x, y, size}, 3);
}

TEST(proportions_are_kept_along_the_axes_that_are_named)
{
    static const int64_t sizes[] = {6, 8};
    struct tensor x = op_tensor(DTYPE_F32, dims(4, 1, 1, 2, 4), NULL), y;
    struct tensor size = list(2, sizes);
    struct resize_attrs attrs = {
        .aspect = RESIZE_NOT_LARGER, .n_axes = 2, .axes = {2, -1}};

    run(&op_resize, &attrs, INPUTS(&x, NULL, NULL, &size), &y, 1);
    CHECK_INT(y.shape.dims[2], 4);
    CHECK_INT(y.shape.dims[3], 8);
    tensor_release(&y);
    attrs.aspect = RESIZE_NOT_SMALLER;
    run(&op_resize, &attrs, INPUTS(&x, NULL, NULL, &size), &y, 1);
    CHECK_INT(y.shape.dims[2], 6);
    CHECK_INT(y.shape.dims[3], 12);
    op_release((struct tensor[]){x, y, size}, 3);
}

/* ---- caches and attention ------------------------------------------------ */

TEST(rows_go_where_the_indices_say_around_the_end_if_allowed)
{
    static const int64_t where[] = {1, 3};
    static const int64_t rows[] = {7, 8, 7, 8};
    struct tensor cache = op_tensor(DTYPE_I64, dims(3, 2, 4, 1, 0), NULL), y;
    struct tensor update = integers(rows, dims(3, 2, 2, 1, 0));
    struct tensor first = list(2, where);
    struct tensor_scatter_attrs attrs = {.axis = -2, .is_circular = true};
    static const int64_t want[] = {0, 7, 8, 0, 8, 0, 0, 7};

    run(&op_tensor_scatter, &attrs, INPUTS(&cache, &update, &first), &y, 1);
    CHECK(memcmp(tensor_data(&y), want, sizeof want) == 0);
    attrs.is_circular = false;
    CHECK_INT(
        refused(&op_tensor_scatter, &attrs, INPUTS(&cache, &update, &first)),
        ASSAY_BAD_INPUT);
    CHECK_HAS(op_err.text, "rows 3 to 4 are not in a cache of 4");
    op_release((struct tensor[]){cache, update, first, y}, 4);
}

/* Without decay and rates, it is attention without a softmax. */
TEST(linear_attention_sums_over_what_came_before)
{
    enum { times = 5, k = 3, v = 2 };
    struct random random = random_seed(6);
    struct tensor q = noise(&random, dims(3, 1, times, 2 * k, 0));
    struct tensor key = noise(&random, dims(3, 1, times, k, 0));
    struct tensor value = noise(&random, dims(3, 1, times, v, 0)), y;
    struct linear_attention_attrs attrs = {
        .heads = 2, .kv_heads = 1, .scale = 0.5F};

    run(&op_linear_attention, &attrs, INPUTS(&q, &key, &value), &y, 1);
    for (int t = 0; t < times; t++) {
        for (int at = 0; at < 2 * v; at++) {
            double sum = 0;

            for (int s = 0; s <= t; s++) {
                double score = 0;

                for (int i = 0; i < k; i++)
                    score +=
                        (double)tensor_f32(&q)[t * 2 * k + at / v * k + i] *
                        (double)tensor_f32(&key)[s * k + i];
                sum += score * (double)tensor_f32(&value)[s * v + at % v];
            }
            CHECK_NEAR(tensor_f32(&y)[t * 2 * v + at], sum / 2, 1e-4);
        }
    }
    op_release((struct tensor[]){q, key, value, y}, 4);
}

/* With a rate of 1 and a key of length 1, what was learnt is what is read. */
TEST(the_delta_rule_replaces_what_a_key_meant)
{
    static const float keys[] = {1, 0, 1, 0}, values[] = {5, 9},
                       ones[] = {1, 1};
    struct tensor q = floats(keys, dims(3, 1, 2, 2, 0));
    struct tensor value = floats(values, dims(3, 1, 2, 1, 0)), y[2];
    struct tensor rate = floats(ones, dims(3, 1, 2, 1, 0));
    struct linear_attention_attrs attrs = {
        .heads = 1, .kv_heads = 1, .scale = 1, .is_of_delta = true};

    run(&op_linear_attention, &attrs, INPUTS(&q, &q, &value, NULL, NULL, &rate),
        y, 2);
    CHECK_NEAR(tensor_f32(&y[0])[0], 5, 1e-6);
    CHECK_NEAR(tensor_f32(&y[0])[1], 9, 1e-6);
    CHECK_NEAR(tensor_f32(&y[1])[0], 9, 1e-6);
    CHECK_INT(refused(&op_linear_attention, &attrs, INPUTS(&q, &q, &value)),
              ASSAY_BAD_INPUT);
    op_release((struct tensor[]){q, value, rate, y[0], y[1]}, 5);
}

/* ---- few bits ------------------------------------------------------------ */

TEST(each_block_has_its_scale_and_numbers_come_back)
{
    static const float numbers[] = {1, 2, 30, -40, 5, 9}, scales[] = {1, 10, 3};
    static const int8_t want[] = {1, 2, 3, -4, 2, 3};
    struct tensor x = floats(numbers, dims(1, 6, 0, 0, 0)), q, y;
    struct tensor scale = floats(scales, dims(1, 3, 0, 0, 0));
    struct quantize_attrs attrs = {
        .axis = 0, .block = 2, .has_dtype = true, .dtype = DTYPE_I4};

    run(&op_quantize_linear, &attrs, INPUTS(&x, &scale), &q, 1);
    CHECK_INT(q.dtype, DTYPE_I4);
    CHECK(memcmp(tensor_data(&q), want, sizeof want) == 0);
    attrs.has_dtype = false;
    run(&op_dequantize_linear, &attrs, INPUTS(&q, &scale), &y, 1);
    for (int i = 0; i < 6; i++)
        CHECK_NEAR(tensor_f32(&y)[i], want[i] * scales[i / 2], 0);
    op_release((struct tensor[]){x, scale, q, y}, 4);
}

TEST(numbers_beyond_a_type_are_held_at_its_ends)
{
    static const float numbers[] = {1e9F, -1e9F}, one = 1;
    static const struct {
        enum dtype dtype;
        double high, low;
    } types[] = {{DTYPE_I4, 7, -8},          {DTYPE_U4, 15, 0},
                 {DTYPE_I2, 1, -2},          {DTYPE_U2, 3, 0},
                 {DTYPE_I16, 32767, -32768}, {DTYPE_U16, 65535, 0}};
    struct tensor x = floats(numbers, dims(1, 2, 0, 0, 0)), q, y;
    struct tensor scale = floats(&one, dims(0, 0, 0, 0, 0));

    for (size_t i = 0; i < 6; i++) {
        struct quantize_attrs attrs = {.has_dtype = true,
                                       .dtype = types[i].dtype};
        struct cast_attrs back = {.dtype = DTYPE_F32};

        run(&op_quantize_linear, &attrs, INPUTS(&x, &scale), &q, 1);
        run(&op_cast, &back, INPUTS(&q), &y, 1);
        CHECK_NEAR(tensor_f32(&y)[0], types[i].high, 0);
        CHECK_NEAR(tensor_f32(&y)[1], types[i].low, 0);
        op_release((struct tensor[]){q, y}, 2);
    }
    op_release((struct tensor[]){x, scale}, 2);
}

/* ---- signals ------------------------------------------------------------- */

TEST(half_a_spectrum_gives_the_signal_back)
{
    for (int64_t n = 7; n < 9; n++) {
        struct random random = random_seed((uint64_t)n);
        struct tensor x = noise(&random, dims(3, 2, n, 1, 0)), half, y;
        struct tensor length = integers(&n, dims(0, 0, 0, 0, 0));
        struct dft_attrs attrs = {.axis = 1, .is_one_sided = true};

        run(&op_dft, &attrs, INPUTS(&x), &half, 1);
        CHECK_INT(half.shape.dims[1], n / 2 + 1);
        attrs.is_inverse = true;
        run(&op_dft, &attrs, INPUTS(&half, &length), &y, 1);
        check_same(&y, &x, 1e-5);
        op_release((struct tensor[]){x, half, y, length}, 4);
    }
}
