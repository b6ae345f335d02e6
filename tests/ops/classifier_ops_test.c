/* The ops of classification networks, on values small enough to check by
 * hand. */
#include "op_run.h"

#include "ops/math/clip.h"
#include "ops/math/softmax.h"
#include "ops/math/unary_math.h"
#include "ops/movement/concat.h"
#include "ops/pooling/adaptive_avg_pool2d.h"
#include "ops/pooling/avg_pool2d.h"
#include "ops/pooling/max_pool2d.h"

#include <math.h>

static void check_op(const struct op_class *op, const void *attrs,
                     const struct tensor *x, struct shape shape,
                     const float *want)
{
    struct tensor y;

    CHECK_STATUS(op_run(op, attrs, op_ways[OP_REFERENCE], &x, 1, &y, 1),
                 ASSAY_OK, &op_err);
    CHECK(shape_equal(&y.shape, &shape));
    for (size_t i = 0; i < tensor_elements(&y); i++)
        CHECK_NEAR(tensor_f32(&y)[i], want[i], 1e-6);
    tensor_release(&y);
}

static void check_refused(const struct op_class *op, const void *attrs,
                          const struct tensor *const *inputs, size_t n,
                          const char *text)
{
    struct tensor y;

    CHECK_INT(op_run(op, attrs, op_ways[OP_REFERENCE], inputs, n, &y, 1),
              ASSAY_BAD_INPUT);
    CHECK_STR(op_err.text, text);
}

static const float to_nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST(a_mean_includes_padding_only_if_it_is_counted)
{
    /* Windows at the corners of a 3x3 map: one value, two, two, four. */
    static const float alone[] = {1, 2.5f, 5.5f, 7};
    static const float counted[] = {0.25f, 1.25f, 2.75f, 7};
    struct avg_pool2d_attrs attrs = {
        .kernel = {2, 2}, .stride = {2, 2}, .before = {1, 1}};
    struct tensor x = floats(to_nine, dims(4, 1, 1, 3, 3));

    check_op(&op_avg_pool2d, &attrs, &x, dims(4, 1, 1, 2, 2), alone);
    attrs.counts_padding = true;
    check_op(&op_avg_pool2d, &attrs, &x, dims(4, 1, 1, 2, 2), counted);
    tensor_release(&x);
}

TEST(the_mean_of_a_window_that_ceil_adds_covers_only_what_is_inside)
{
    static const float want[] = {3, 4.5f, 7.5f, 9};
    struct avg_pool2d_attrs attrs = {.kernel = {2, 2},
                                     .stride = {2, 2},
                                     .ceil = true,
                                     .counts_padding = true};
    struct tensor x = floats(to_nine, dims(4, 1, 1, 3, 3));

    check_op(&op_avg_pool2d, &attrs, &x, dims(4, 1, 1, 2, 2), want);
    tensor_release(&x);
}

TEST(max_pool_rounds_up_but_starts_no_window_in_the_padding)
{
    static const float up[] = {5, 6, 8, 9}, padded[] = {1, 3, 7, 9};
    struct max_pool2d_attrs attrs = {
        .kernel = {2, 2}, .stride = {2, 2}, .ceil = true};
    struct tensor x = floats(to_nine, dims(4, 1, 1, 3, 3));

    check_op(&op_max_pool2d, &attrs, &x, dims(4, 1, 1, 2, 2), up);
    for (int i = 0; i < 2; i++)
        attrs.before[i] = attrs.after[i] = 1;
    check_op(&op_max_pool2d, &attrs, &x, dims(4, 1, 1, 2, 2), padded);
    tensor_release(&x);
}

TEST(adaptive_windows_overlap_if_the_size_does_not_divide)
{
    /* 5 into 3: pixels 0-1, 1-3, 3-4. */
    static const float row[] = {1, 2, 4, 8, 16};
    static const float thirds[] = {1.5f, 14 / 3.0f, 12}, mean[] = {6.2f};
    struct adaptive_avg_pool2d_attrs attrs = {.size = {1, 3}};
    struct tensor x = floats(row, dims(4, 1, 1, 1, 5));

    check_op(&op_adaptive_avg_pool2d, &attrs, &x, dims(4, 1, 1, 1, 3), thirds);
    attrs.size[1] = 1;
    check_op(&op_adaptive_avg_pool2d, &attrs, &x, dims(4, 1, 1, 1, 1), mean);
    attrs.size[0] = 2, attrs.size[1] = 5;
    check_op(&op_adaptive_avg_pool2d, &attrs, &x, dims(4, 1, 1, 2, 5),
             (const float[]){1, 2, 4, 8, 16, 1, 2, 4, 8, 16});
    tensor_release(&x);
}

TEST(a_map_without_pixels_has_no_mean)
{
    struct adaptive_avg_pool2d_attrs attrs = {.size = {1, 1}};
    struct tensor x = floats(NULL, dims(4, 1, 3, 0, 4));
    const struct tensor *inputs[] = {&x};

    check_refused(&op_adaptive_avg_pool2d, &attrs, inputs, 1,
                  "an empty map of 0x4 has no mean");
    tensor_release(&x);
}

TEST(channels_are_concatenated_image_by_image)
{
    static const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8, 9, 10, 11, 12};
    static const float want[] = {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12};
    struct tensor x[] = {floats(a, dims(4, 2, 1, 1, 2)),
                         floats(b, dims(4, 2, 2, 1, 2)),
                         floats(NULL, dims(4, 2, 0, 1, 2))};
    const struct tensor *inputs[] = {&x[0], &x[1], &x[2]};

    for (int axis = -3; axis <= 1; axis += 4) {
        struct concat_attrs attrs = {.axis = axis};
        struct tensor y;

        CHECK_STATUS(
            op_run(&op_concat, &attrs, op_ways[OP_REFERENCE], inputs, 3, &y, 1),
            ASSAY_OK, &op_err);
        CHECK_INT(y.shape.dims[1], 3);
        CHECK(memcmp(tensor_data(&y), want, sizeof want) == 0);
        tensor_release(&y);
    }
    op_release(x, 3);
}

/* Pieces of 1 to 32 bytes per row. */
TEST(rows_that_were_cut_into_short_pieces_are_joined_again)
{
    enum { rows = 3, width = 10, n = 4 };
    static const int64_t widths[n] = {1, 4, 2, 3}, first[n] = {0, 1, 5, 7};
    static const enum dtype dtypes[] = {DTYPE_U8, DTYPE_F32, DTYPE_I64};
    struct concat_attrs attrs = {.axis = -1};
    uint8_t whole[rows * width * sizeof(int64_t)];

    for (size_t i = 0; i < sizeof whole; i++)
        whole[i] = (uint8_t)i;
    for (size_t t = 0; t < 3; t++) {
        size_t bytes = dtype_bytes(dtypes[t]);
        struct tensor x[n], y;
        const struct tensor *inputs[n];

        for (size_t i = 0; i < n; i++) {
            size_t piece = (size_t)widths[i] * bytes;

            x[i] = op_tensor(dtypes[t], dims(3, rows, 1, widths[i], 0), NULL);
            inputs[i] = &x[i];
            for (size_t r = 0; r < rows; r++)
                memcpy((char *)tensor_data(&x[i]) + r * piece,
                       whole + (r * width + (size_t)first[i]) * bytes, piece);
        }
        CHECK_STATUS(
            op_run(&op_concat, &attrs, op_ways[OP_REFERENCE], inputs, n, &y, 1),
            ASSAY_OK, &op_err);
        CHECK_INT(y.shape.dims[2], width);
        CHECK(memcmp(tensor_data(&y), whole, rows * width * bytes) == 0);
        tensor_release(&y);
        op_release(x, n);
    }
}

TEST(tensors_that_cannot_be_joined_are_named)
{
    struct concat_attrs attrs = {.axis = 1};
    struct tensor x[] = {floats(NULL, dims(4, 1, 1, 2, 2)),
                         floats(NULL, dims(4, 1, 1, 3, 2)),
                         integers(NULL, dims(4, 1, 1, 2, 2))};
    const struct tensor *shapes[] = {&x[0], &x[1]}, *types[] = {&x[0], &x[2]};

    check_refused(&op_concat, &attrs, shapes, 2,
                  "float32 1x1x2x2 and float32 1x1x3x2 cannot be joined along "
                  "axis 1");
    check_refused(&op_concat, &attrs, types, 2,
                  "float32 1x1x2x2 and int64 1x1x2x2 cannot be joined along "
                  "axis 1");
    attrs.axis = 4;
    check_refused(&op_concat, &attrs, shapes, 1,
                  "axis 4 does not exist in 1x1x2x2, which has rank 4");
    op_release(x, 3);
}

TEST(clip_applies_both_bounds_and_keeps_a_nan)
{
    static const float values[] = {-1, 0, 3, 6, 7}, want[] = {0, 0, 3, 6, 6};
    struct clip_attrs attrs = {.low = 0, .high = 6};
    struct tensor x = floats(values, dims(1, 5, 0, 0, 0)), y;
    const struct tensor *inputs[] = {&x};

    check_op(&op_clip, &attrs, &x, dims(1, 5, 0, 0, 0), want);
    tensor_f32(&x)[2] = NAN;
    CHECK_INT(op_run(&op_clip, &attrs, op_ways[OP_REFERENCE], inputs, 1, &y, 1),
              ASSAY_OK);
    CHECK(isnan(tensor_f32(&y)[2]));
    tensor_release(&y);
    tensor_release(&x);
}

TEST(softmax_sums_to_one_along_its_axis)
{
    /* ln 1, ln 3; 1000 + ln 1, 1000 + ln 4. */
    static const float values[] = {0, 1000, 1.0986123f, 1001.3862944f};
    static const float want[] = {0.25f, 0.2f, 0.75f, 0.8f};
    struct softmax_attrs attrs = {.axis = -2};
    struct tensor x = floats(values, dims(3, 1, 2, 2, 0)), y;
    const struct tensor *inputs[] = {&x};

    CHECK_INT(
        op_run(&op_softmax, &attrs, op_ways[OP_REFERENCE], inputs, 1, &y, 1),
        ASSAY_OK);
    for (size_t i = 0; i < 4; i++)
        CHECK_NEAR(tensor_f32(&y)[i], want[i], 1e-4);
    attrs.axis = 3;
    check_refused(&op_softmax, &attrs, inputs, 1,
                  "axis 3 does not exist in 3 dimensions");
    tensor_release(&y);
    tensor_release(&x);
}

TEST(sigmoid_is_a_half_at_zero_and_stays_within_its_bounds)
{
    static const float values[] = {0, 1.0986123f, -200, 200};
    static const float want[] = {0.5f, 0.75f, 0, 1};
    struct unary_attrs attrs = {0};
    struct tensor x = floats(values, dims(1, 4, 0, 0, 0));

    check_op(&op_sigmoid, &attrs, &x, dims(1, 4, 0, 0, 0), want);
    tensor_release(&x);
}

TEST(dropout_passes_everything_without_a_copy)
{
    struct tensor x = floats(to_nine, dims(1, 9, 0, 0, 0)), y = {0};
    const struct tensor *inputs[] = {&x};
    struct op_context context = {.pool = op_pool()};
    struct node node = {.op = &op_dropout, .n_inputs = 1, .n_outputs = 1};

    CHECK_INT(op_dropout.infer(&node, inputs, &y, &op_err), ASSAY_OK);
    CHECK_INT(op_dropout.forward(&context, &node, inputs, &y, &op_err),
              ASSAY_OK);
    CHECK(tensor_data(&y) == tensor_data(&x));
    tensor_release(&y);
    tensor_release(&x);
}
