/* Recurrent layers, norms, quantised products, boxes and random numbers, beyond
 * what ONNX's own cases test. */
#include "base/mem.h"
#include "ops/convolution/window.h"
#include "ops/detection/box_select.h"
#include "ops/detection/roi_crop.h"
#include "ops/norm/normalize.h"
#include "ops/op_run.h"
#include "ops/product/matmul.h"
#include "ops/product/quantize.h"
#include "ops/random/random_ops.h"
#include "ops/sequence/recurrent.h"
#include "ops/sequence/signal.h"
#include "ops/sequence/tf_idf.h"

#include <math.h>

enum { steps = 5, batch = 2, in = 3, hidden = 4 };

static enum assay_status run(const struct op_class *op, const void *attrs,
                             const struct tensor *const *inputs, size_t n,
                             struct tensor *y, size_t n_outputs)
{
    return op_run(op, attrs, op_ways[OP_FAST], inputs, n, y, n_outputs);
}

/* ---- recurrent layers -------------------------------------------------- */

static const struct {
    const struct op_class *op;
    int64_t gates;
    size_t outputs;
} cells[] = {{&op_rnn, 1, 2}, {&op_gru, 3, 2}, {&op_lstm, 4, 3}};

static struct recurrent_attrs recurrent(int directions)
{
    struct recurrent_attrs attrs = {.hidden = hidden, .directions = directions};

    for (int i = 0; i < 2; i++) {
        attrs.activations[i][0].function = RECURRENT_SIGMOID;
        attrs.activations[i][1].function = RECURRENT_TANH;
        attrs.activations[i][2].function = RECURRENT_TANH;
    }
    return attrs;
}

/* The steps of a sequence in reverse. */
static struct tensor reversed(const struct tensor *x)
{
    struct tensor y = op_tensor(DTYPE_F32, x->shape, NULL);
    size_t step = tensor_bytes(x) / (size_t)x->shape.dims[0];

    for (size_t i = 0; i < (size_t)x->shape.dims[0]; i++)
        memcpy((char *)tensor_data(&y) + i * step,
               (char *)tensor_data(x) +
                   ((size_t)x->shape.dims[0] - 1 - i) * step,
               step);
    return y;
}

TEST(a_reverse_layer_is_a_forward_one_on_the_reversed_sequence)
{
    for (size_t c = 0; c < 3; c++) {
        struct random random = random_seed(c);
        int64_t rows = cells[c].gates * hidden;
        struct tensor x = noise(&random, dims(3, steps, batch, in, 0));
        struct tensor w = noise(&random, dims(3, 1, rows, in, 0));
        struct tensor r = noise(&random, dims(3, 1, rows, hidden, 0));
        struct tensor turned = reversed(&x), got[3], want[3], back;
        const struct tensor *forward[] = {&turned, &w, &r};
        const struct tensor *reverse[] = {&x, &w, &r};
        struct recurrent_attrs attrs = recurrent(1);

        CHECK_STATUS(
            run(cells[c].op, &attrs, forward, 3, want, cells[c].outputs),
            ASSAY_OK, &op_err);
        attrs.is_reverse = true;
        CHECK_STATUS(
            run(cells[c].op, &attrs, reverse, 3, got, cells[c].outputs),
            ASSAY_OK, &op_err);
        back = reversed(&want[0]);
        check_same(&got[0], &back, 0);
        for (size_t i = 1; i < cells[c].outputs; i++)
            check_same(&got[i], &want[i], 0);
        op_release(got, cells[c].outputs);
        op_release(want, cells[c].outputs);
        op_release((struct tensor[]){x, w, r, turned, back}, 5);
    }
}

TEST(a_bidirectional_layer_is_both_directions_side_by_side)
{
    for (size_t c = 0; c < 3; c++) {
        struct random random = random_seed(c + 10);
        int64_t rows = cells[c].gates * hidden;
        struct tensor x = noise(&random, dims(3, steps, batch, in, 0));
        struct tensor w = noise(&random, dims(3, 2, rows, in, 0));
        struct tensor r = noise(&random, dims(3, 2, rows, hidden, 0));
        struct tensor b = noise(&random, dims(2, 2, 2 * rows, 0, 0));
        const struct tensor *all[] = {&x, &w, &r, &b};
        struct recurrent_attrs two = recurrent(2), one = recurrent(1);
        struct tensor both[3], single[3];

        CHECK_STATUS(run(cells[c].op, &two, all, 4, both, cells[c].outputs),
                     ASSAY_OK, &op_err);
        for (int d = 0; d < 2; d++) {
            struct tensor half[] = {
                floats(tensor_f32(&w) + d * rows * in, dims(3, 1, rows, in, 0)),
                floats(tensor_f32(&r) + d * rows * hidden,
                       dims(3, 1, rows, hidden, 0)),
                floats(tensor_f32(&b) + d * 2 * rows,
                       dims(2, 1, 2 * rows, 0, 0))};
            const struct tensor *part[] = {&x, &half[0], &half[1], &half[2]};

            one.is_reverse = d == 1;
            CHECK_STATUS(
                run(cells[c].op, &one, part, 4, single, cells[c].outputs),
                ASSAY_OK, &op_err);
            for (int64_t t = 0; t < steps; t++)
                CHECK(
                    memcmp(tensor_f32(&both[0]) + (t * 2 + d) * batch * hidden,
                           tensor_f32(&single[0]) + t * batch * hidden,
                           batch * hidden * sizeof(float)) == 0);
            op_release(single, cells[c].outputs);
            op_release(half, 3);
        }
        op_release(both, cells[c].outputs);
        op_release((struct tensor[]){x, w, r, b}, 4);
    }
}

TEST(a_short_sequence_ends_early_and_leaves_zeros)
{
    static const int32_t lengths[] = {2, steps};
    struct random random = random_seed(21);
    struct tensor x = noise(&random, dims(3, steps, batch, in, 0)), y[2];
    struct tensor w = noise(&random, dims(3, 1, hidden, in, 0));
    struct tensor r = noise(&random, dims(3, 1, hidden, hidden, 0));
    struct tensor n = op_tensor(DTYPE_I32, dims(1, batch, 0, 0, 0), lengths);
    const struct tensor *inputs[] = {&x, &w, &r, NULL, &n};
    struct recurrent_attrs attrs = recurrent(1);

    CHECK_STATUS(run(&op_rnn, &attrs, inputs, 5, y, 2), ASSAY_OK, &op_err);
    for (int i = 0; i < hidden; i++) {
        CHECK(tensor_f32(&y[1])[i] ==
              tensor_f32(&y[0])[(1 * batch + 0) * hidden + i]);
        CHECK(tensor_f32(&y[0])[(2 * batch + 0) * hidden + i] == 0);
        CHECK(tensor_f32(&y[1])[hidden + i] ==
              tensor_f32(&y[0])[((steps - 1) * batch + 1) * hidden + i]);
    }
    op_release(y, 2);
    op_release((struct tensor[]){x, w, r, n}, 4);
}

TEST(weights_of_another_size_are_refused)
{
    struct tensor x = op_tensor(DTYPE_F32, dims(3, steps, batch, in, 0), NULL);
    struct tensor w = op_tensor(DTYPE_F32, dims(3, 1, hidden, in + 1, 0), NULL);
    struct tensor r = op_tensor(DTYPE_F32, dims(3, 1, hidden, hidden, 0), NULL);
    const struct tensor *inputs[] = {&x, &w, &r};
    struct recurrent_attrs attrs = recurrent(1);
    struct tensor y[2];

    CHECK_STATUS(run(&op_rnn, &attrs, inputs, 3, y, 2), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STR(op_err.text, "input 1 has 16 elements; expected 12");
    op_release((struct tensor[]){x, w, r}, 3);
}

/* ---- norms and quantised numbers --------------------------------------- */

TEST(a_norm_is_exact_far_from_zero)
{
    static const float one[] = {1}, none[] = {0};
    float values[] = {10000.25F, 10000.5F, 10000.75F, 10001};
    struct tensor x = floats(values, dims(3, 1, 1, 4, 0)), y;
    struct tensor scale = floats(one, dims(1, 1, 0, 0, 0));
    struct tensor shift = floats(none, dims(1, 1, 0, 0, 0));
    const struct tensor *inputs[] = {&x, &scale, &shift};
    struct normalize_attrs attrs = {0};

    /* The deviation of four numbers in equal steps is sqrt(5) / 2 steps. */
    CHECK_STATUS(run(&op_instance_norm, &attrs, inputs, 3, &y, 1), ASSAY_OK,
                 &op_err);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(tensor_f32(&y)[i], (i - 1.5) * 2 / sqrt(5), 1e-3);
    op_release((struct tensor[]){x, scale, shift, y}, 4);
}

TEST(quantised_numbers_are_limited_and_a_nan_is_the_lowest)
{
    static const float values[] = {-1000, 1000, 0.5F, 1.5F, -0.5F, NAN};
    static const int8_t zero[] = {3}, want[] = {-128, 127, 3, 5, 3, -128};
    static const float one[] = {1};
    struct tensor x = floats(values, dims(1, 6, 0, 0, 0)), y, back;
    struct tensor scale = floats(one, dims(0, 0, 0, 0, 0));
    struct tensor z = op_tensor(DTYPE_I8, dims(0, 0, 0, 0, 0), zero);
    const struct tensor *inputs[] = {&x, &scale, &z};
    const struct tensor *again[] = {&y, &scale, &z};
    struct quantize_attrs attrs = {.axis = 1};

    CHECK_STATUS(run(&op_quantize_linear, &attrs, inputs, 3, &y, 1), ASSAY_OK,
                 &op_err);
    CHECK(memcmp(tensor_data(&y), want, sizeof want) == 0);
    CHECK_STATUS(run(&op_dequantize_linear, &attrs, again, 3, &back, 1),
                 ASSAY_OK, &op_err);
    CHECK(tensor_f32(&back)[0] == -131 && tensor_f32(&back)[3] == 2);
    op_release((struct tensor[]){x, scale, z, y, back}, 5);
}

TEST(products_of_bytes_do_not_round)
{
    enum { n = 400 };
    static uint8_t most[n];
    struct tensor a, b, y;
    const struct tensor *inputs[] = {&a, &b};

    /* 400 * 255 * 255 is more than float32 can represent exactly. */
    memset(most, 255, n);
    most[0] = 254;
    a = op_tensor(DTYPE_U8, dims(2, 1, n, 0, 0), most);
    most[0] = 255;
    b = op_tensor(DTYPE_U8, dims(2, n, 1, 0, 0), most);
    CHECK_STATUS(run(&op_matmul_integer, NULL, inputs, 2, &y, 1), ASSAY_OK,
                 &op_err);
    CHECK_INT(*(int32_t *)tensor_data(&y), n * 255 * 255 - 255);
    op_release((struct tensor[]){a, b, y}, 3);
}

TEST(a_bias_for_other_channels_is_refused)
{
    static const float one[] = {1};
    static const int32_t bias[] = {1, 2, 3};
    struct tensor x = op_tensor(DTYPE_U8, dims(4, 1, 1, 2, 2), NULL), y;
    struct tensor w = op_tensor(DTYPE_U8, dims(4, 2, 1, 1, 1), NULL);
    struct tensor scale = floats(one, dims(0, 0, 0, 0, 0));
    struct tensor zero = op_tensor(DTYPE_U8, dims(0, 0, 0, 0, 0), NULL);
    struct tensor b = op_tensor(DTYPE_I32, dims(1, 3, 0, 0, 0), bias);
    const struct tensor *inputs[] = {&x,    &scale, &zero, &w, &scale,
                                     &zero, &scale, &zero, &b};
    struct quantized_conv_attrs attrs = {
        .window = {.rank = 2, .stride = {1, 1}, .dilation = {1, 1}},
        .groups = 1};

    CHECK_STATUS(run(&op_qlinear_conv, &attrs, inputs, 9, &y, 1),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text, "3 biases for 2 channels");
    op_release((struct tensor[]){x, w, scale, zero, b}, 5);
}

TEST(sequences_of_a_length_begin_where_the_list_says)
{
    static const int64_t pool[] = {5, 7, 1, 2}, starts[] = {0, 2};
    static const int64_t columns[] = {0, 1, 2}, text[] = {1, 2, 5, 1, 2};
    struct tensor t = integers(text, dims(1, 5, 0, 0, 0)), y;
    struct tensor p = integers(pool, dims(1, 4, 0, 0, 0));
    struct tensor s = integers(starts, dims(1, 2, 0, 0, 0));
    struct tensor c = integers(columns, dims(1, 3, 0, 0, 0));
    const struct tensor *inputs[] = {&t, &p, &s, &c};
    struct tf_idf_attrs attrs = {.min_length = 1, .max_length = 2};

    CHECK_STATUS(run(&op_tf_idf, &attrs, inputs, 4, &y, 1), ASSAY_OK, &op_err);
    CHECK(tensor_f32(&y)[0] == 1 && tensor_f32(&y)[1] == 0 &&
          tensor_f32(&y)[2] == 2);
    tensor_release(&y);
    /* Three numbers are not pairs: one is left over. */
    tensor_i64(&s)[1] = 1;
    CHECK_STATUS(run(&op_tf_idf, &attrs, inputs, 4, &y, 1), ASSAY_BAD_INPUT,
                 &op_err);
    op_release((struct tensor[]){t, p, s, c}, 4);
}

/* ---- boxes ------------------------------------------------------------- */

TEST(boxes_are_kept_by_class_in_descending_order)
{
    /* The first two overlap; corners may be in any order. */
    static const float boxes[] = {0, 0, 10, 10, 11, 11, 1, 1, 20, 20, 30, 30};
    static const float scores[] = {0.5F, 0.9F, 0.7F, 0.1F, 0.2F, NAN};
    static const int64_t most[] = {2};
    static const float overlap[] = {0.5F}, least[] = {0.15F};
    static const int64_t want[] = {0, 0, 1, 0, 0, 2, 0, 1, 1};
    struct tensor b = floats(boxes, dims(3, 1, 3, 4, 0)), y;
    struct tensor s = floats(scores, dims(3, 1, 2, 3, 0));
    struct tensor m = integers(most, dims(1, 1, 0, 0, 0));
    struct tensor o = floats(overlap, dims(1, 1, 0, 0, 0));
    struct tensor l = floats(least, dims(0, 0, 0, 0, 0));
    const struct tensor *inputs[] = {&b, &s, &m, &o, &l};
    struct box_select_attrs attrs = {0};
    enum assay_status st;
    long nth = 0;

    CHECK_STATUS(run(&op_box_select, &attrs, inputs, 5, &y, 1), ASSAY_OK,
                 &op_err);
    CHECK_INT(y.shape.dims[0], 3);
    CHECK(memcmp(tensor_data(&y), want, sizeof want) == 0);
    tensor_release(&y);
    do {
        mem_fail_at(nth++);
        st = run(&op_box_select, &attrs, inputs, 5, &y, 1);
        mem_fail_at(-1);
        CHECK(st == ASSAY_OK || st == ASSAY_NOMEM);
    } while (st);
    CHECK(nth > 5);
    op_release((struct tensor[]){b, s, m, o, l, y}, 6);
}

TEST(the_fast_roi_crop_equals_the_plain_one)
{
    struct random random = random_seed(40);
    struct tensor x = noise(&random, dims(4, 2, 37, 19, 23));
    struct tensor boxes = op_tensor(DTYPE_F32, dims(2, 50, 4, 0, 0), NULL);
    struct tensor images = integers(NULL, dims(1, 50, 0, 0, 0));
    const struct tensor *inputs[] = {&x, &boxes, &images};

    random_boxes(&random, tensor_boxes(&boxes), 50);
    for (int64_t i = 0; i < 50; i++)
        tensor_i64(&images)[i] = i % 2;
    for (int is_half_pixel = 0; is_half_pixel < 2; is_half_pixel++) {
        struct roi_crop_attrs attrs = {.height = 7,
                                       .width = 7,
                                       .sampling_ratio = 2,
                                       .scale = 0.2F,
                                       .is_half_pixel = is_half_pixel};

        compare_ways(&op_roi_crop, &attrs, inputs, 3, 1, 1e-5);
    }
    op_release((struct tensor[]){x, boxes, images}, 3);
}

TEST(an_empty_map_is_refused)
{
    static const float box[] = {0, 0, 2, 2};
    struct tensor x = op_tensor(DTYPE_F32, dims(4, 1, 1, 0, 4), NULL), y;
    struct tensor boxes = floats(box, dims(2, 1, 4, 0, 0));
    struct tensor images = integers(NULL, dims(1, 1, 0, 0, 0));
    const struct tensor *inputs[] = {&x, &boxes, &images};
    struct roi_crop_attrs attrs = {.height = 2, .width = 2, .scale = 1};

    CHECK_STATUS(run(&op_roi_crop, &attrs, inputs, 3, &y, 1), ASSAY_BAD_INPUT,
                 &op_err);
    op_release((struct tensor[]){x, boxes, images}, 3);
}

TEST(a_box_in_a_missing_image_is_refused)
{
    static const float box[] = {0, 0, 2, 2};
    static const int64_t image[] = {1};
    struct tensor x = op_tensor(DTYPE_F32, dims(4, 1, 1, 4, 4), NULL), y;
    struct tensor boxes = floats(box, dims(2, 1, 4, 0, 0));
    struct tensor images = integers(image, dims(1, 1, 0, 0, 0));
    const struct tensor *inputs[] = {&x, &boxes, &images};
    struct roi_crop_attrs attrs = {.height = 2, .width = 2, .scale = 1};

    CHECK_STATUS(run(&op_roi_crop, &attrs, inputs, 3, &y, 1), ASSAY_BAD_INPUT,
                 &op_err);
    CHECK_STR(op_err.text, "a box in image 1 of 1");
    op_release((struct tensor[]){x, boxes, images}, 3);
}

/* ---- signals and random numbers ---------------------------------------- */

TEST(a_transform_and_its_inverse_return_the_signal)
{
    struct random random = random_seed(30);
    struct tensor x = noise(&random, dims(3, 2, 15, 2, 0)), y, back;
    const struct tensor *there[] = {&x}, *and_back[] = {&y};
    struct dft_attrs forward = {.axis = 1};
    struct dft_attrs inverse = {.axis = 1, .is_inverse = true};

    CHECK_STATUS(run(&op_dft, &forward, there, 1, &y, 1), ASSAY_OK, &op_err);
    CHECK_STATUS(run(&op_dft, &inverse, and_back, 1, &back, 1), ASSAY_OK,
                 &op_err);
    check_same(&back, &x, 1e-5);
    op_release((struct tensor[]){x, y, back}, 3);
}

/* numpy.random.RandomState(0).random_sample(3), and (42): NumPy 2.4. */
TEST(a_seed_draws_the_same_numbers_as_in_numpy)
{
    static const double zero[] = {0.5488135039273248, 0.7151893663724195,
                                  0.6027633760716439};
    static const double other[] = {0.3745401188473625, 0.9507143064099162,
                                   0.7319939418114051};
    static const int64_t three[] = {3};
    struct tensor n = integers(three, dims(1, 1, 0, 0, 0)), y;
    const struct tensor *inputs[] = {&n};
    struct random_attrs attrs = {
        .dtype = DTYPE_F64, .has_dtype = true, .high = 1};

    CHECK_STATUS(run(&op_random_uniform, &attrs, inputs, 1, &y, 1), ASSAY_OK,
                 &op_err);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(((double *)tensor_data(&y))[i], zero[i], 1e-15);
    tensor_release(&y);
    attrs.seed = 42;
    CHECK_STATUS(run(&op_random_uniform, &attrs, inputs, 1, &y, 1), ASSAY_OK,
                 &op_err);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(((double *)tensor_data(&y))[i], other[i], 1e-15);
    op_release((struct tensor[]){n, y}, 2);
}

TEST(random_numbers_have_the_requested_mean_and_deviation)
{
    static const int64_t many[] = {20000};
    struct tensor n = integers(many, dims(1, 1, 0, 0, 0)), normal, coin;
    struct tensor likely = op_tensor(DTYPE_F32, dims(1, 20000, 0, 0, 0), NULL);
    const struct tensor *inputs[] = {&n}, *chances[] = {&likely};
    struct random_attrs attrs = {
        .dtype = DTYPE_F32, .has_dtype = true, .low = 5, .high = 2};
    double sum = 0, squares = 0, heads = 0;

    for (size_t i = 0; i < 20000; i++)
        tensor_f32(&likely)[i] = 0.3F;
    CHECK_STATUS(run(&op_random_normal, &attrs, inputs, 1, &normal, 1),
                 ASSAY_OK, &op_err);
    CHECK_STATUS(run(&op_bernoulli, &attrs, chances, 1, &coin, 1), ASSAY_OK,
                 &op_err);
    for (size_t i = 0; i < 20000; i++) {
        double value = (double)tensor_f32(&normal)[i];

        sum += value;
        squares += (value - 5) * (value - 5);
        heads += (double)tensor_f32(&coin)[i];
    }
    CHECK_NEAR(sum / 20000, 5, 0.06);
    CHECK_NEAR(sqrt(squares / 20000), 2, 0.05);
    CHECK_NEAR(heads / 20000, 0.3, 0.015);
    op_release((struct tensor[]){n, normal, coin, likely}, 4);
}
