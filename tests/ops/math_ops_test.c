/* Elementwise ops, reductions and products beyond what ONNX's own cases test:
 * accuracy, special numbers, threads, refusals. */
#include "ops/math/arg_max.h"
#include "ops/math/binary_math.h"
#include "ops/math/reduce.h"
#include "ops/math/softmax.h"
#include "ops/math/top_k.h"
#include "ops/math/unary_math.h"
#include "ops/math/vector_math_internal.h"
#include "ops/op_run.h"
#include "ops/product/einsum.h"
#include "ops/product/matmul.h"
#include "tensor/half.h"

#include <float.h>
#include <math.h>

static struct tensor run_one(const struct op_class *op, const void *attrs,
                             const struct tensor *const *inputs, size_t n)
{
    struct tensor y;

    CHECK_STATUS(op_run(op, attrs, op_ways[OP_FAST], inputs, n, &y, 1),
                 ASSAY_OK, &op_err);
    return y;
}

/* Distance in units in the last place of the expected float. */
static double ulps(float got, double want)
{
    double unit = ldexp(1, ilogb(want) - 23);

    return fabs((double)got - want) / fmax(unit, ldexp(1, -149));
}

TEST(vector_functions_are_within_two_units_in_the_last_place)
{
    for (double x = -103; x < 88.7; x += 0.0137) {
        float at = (float)x;

        CHECK(ulps(vector_exp(at), exp((double)at)) <= 2);
        if (x > -87)
            CHECK(ulps(vector_sigmoid(at), 1 / (1 + exp(-(double)at))) <= 3);
        CHECK(ulps(vector_tanh(at / 10), tanh((double)(at / 10))) <= 3);
    }
}

TEST(vector_functions_keep_nan_and_infinity)
{
    CHECK(isinf(vector_exp(INFINITY)) && isinf(vector_exp(89)));
    CHECK(vector_exp(-INFINITY) == 0 && vector_exp(-105) == 0);
    CHECK(isnan(vector_exp(NAN)) && isnan(vector_tanh(NAN)));
    CHECK(isnan(vector_sigmoid(NAN)));
    CHECK(vector_exp(0) == 1 && vector_tanh(0) == 0);
    CHECK(vector_sigmoid(INFINITY) == 1 && vector_sigmoid(-INFINITY) == 0);
    CHECK(vector_tanh(INFINITY) == 1 && vector_tanh(-INFINITY) == -1);
}

TEST(threads_make_no_difference_to_large_maps)
{
    struct random random = random_seed(3);
    struct tensor x = noise(&random, dims(4, 1, 9, 61, 67));
    struct tensor channel = noise(&random, dims(4, 1, 9, 1, 1));
    struct tensor column = noise(&random, dims(2, 61, 1, 0, 0));
    const struct tensor *by_channel[] = {&channel, &x};
    const struct tensor *by_column[] = {&x, &column}, *one[] = {&x};
    struct unary_attrs unary = {.alpha = 0.1};
    struct reduce_attrs reduce = {.keeps_dims = true};
    struct softmax_attrs softmax = {.axis = 1};

    compare_ways(&op_sum, &(struct binary_attrs){0}, by_channel, 2, 1, 0);
    compare_ways(&op_mul, &(struct binary_attrs){0}, by_column, 2, 1, 0);
    compare_ways(&op_leaky_relu, &unary, one, 1, 1, 0);
    compare_ways(&op_softmax, &softmax, one, 1, 1, 0);
    compare_ways(&op_reduce_mean, &reduce, one, 1, 1, 0);
    op_release((struct tensor[]){x, channel, column}, 3);
}

TEST(division_by_zero_and_of_the_smallest_integer_is_defined)
{
    static const int64_t a[] = {INT64_MIN, 7, -7, 7}, b[] = {-1, 0, 2, -2};
    static const int64_t quotients[] = {INT64_MIN, 0, -3, -3};
    static const int64_t modulos[] = {0, 0, 1, -1}, rests[] = {0, 0, -1, 1};
    struct tensor x = integers(a, dims(1, 4, 0, 0, 0));
    struct tensor z = integers(b, dims(1, 4, 0, 0, 0));
    const struct tensor *both[] = {&x, &z};
    struct binary_attrs plain = {0}, truncated = {.is_fmod = true};
    struct tensor y[] = {run_one(&op_div, &plain, both, 2),
                         run_one(&op_mod, &plain, both, 2),
                         run_one(&op_mod, &truncated, both, 2)};

    CHECK(memcmp(tensor_data(&y[0]), quotients, sizeof quotients) == 0);
    CHECK(memcmp(tensor_data(&y[1]), modulos, sizeof modulos) == 0);
    CHECK(memcmp(tensor_data(&y[2]), rests, sizeof rests) == 0);
    op_release(y, 3);
    op_release((struct tensor[]){x, z}, 2);
}

TEST(a_minimum_keeps_a_nan_on_either_side)
{
    static const float a[] = {NAN, 1, 2}, b[] = {1, NAN, 1};
    struct tensor x = floats(a, dims(1, 3, 0, 0, 0));
    struct tensor z = floats(b, dims(1, 3, 0, 0, 0));
    const struct tensor *both[] = {&x, &z};
    struct tensor low = run_one(&op_min, &(struct binary_attrs){0}, both, 2);
    struct tensor high = run_one(&op_max, &(struct binary_attrs){0}, both, 2);

    CHECK(isnan(tensor_f32(&low)[0]) && isnan(tensor_f32(&low)[1]));
    CHECK(isnan(tensor_f32(&high)[0]) && isnan(tensor_f32(&high)[1]));
    CHECK(tensor_f32(&low)[2] == 1 && tensor_f32(&high)[2] == 2);
    op_release((struct tensor[]){x, z, low, high}, 4);
}

TEST(bytes_wrap_around_and_halves_round_once)
{
    static const uint8_t a[] = {200, 3}, b[] = {100, 5};
    const uint16_t c[] = {half_from_float(2048), half_from_float(1)};
    struct tensor x = op_tensor(DTYPE_U8, dims(1, 2, 0, 0, 0), a);
    struct tensor z = op_tensor(DTYPE_U8, dims(1, 2, 0, 0, 0), b);
    struct tensor h = op_tensor(DTYPE_F16, dims(1, 2, 0, 0, 0), c);
    const struct tensor *bytes[] = {&x, &z}, *halves[] = {&h};
    struct tensor sum = run_one(&op_sum, &(struct binary_attrs){0}, bytes, 2);
    struct tensor less = run_one(&op_sub, &(struct binary_attrs){0}, bytes, 2);
    struct tensor total =
        run_one(&op_reduce_sum, &(struct reduce_attrs){0}, halves, 1);

    CHECK_INT(((uint8_t *)tensor_data(&sum))[0], 44);
    CHECK_INT(((uint8_t *)tensor_data(&less))[1], 254);
    /* 2049 lies between two float16 numbers; the even one is 2048. */
    CHECK_INT(*(uint16_t *)tensor_data(&total), half_from_float(2048));
    op_release((struct tensor[]){x, z, h, sum, less, total}, 6);
}

TEST(shapes_and_types_that_do_not_fit_are_named)
{
    struct tensor a = op_tensor(DTYPE_F32, dims(2, 2, 3, 0, 0), NULL);
    struct tensor b = op_tensor(DTYPE_F32, dims(2, 2, 4, 0, 0), NULL);
    struct tensor c = op_tensor(DTYPE_I64, dims(2, 2, 3, 0, 0), NULL);
    struct tensor truth = op_tensor(DTYPE_BOOL, dims(1, 2, 0, 0, 0), NULL);
    struct tensor y;
    const struct tensor *shapes[] = {&a, &b}, *types[] = {&a, &c};
    const struct tensor *one[] = {&truth};

    CHECK_STATUS(op_run(&op_sum, &(struct binary_attrs){0}, op_ways[OP_FAST],
                        shapes, 2, &y, 1),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text, "2x3 and 2x4 cannot be broadcast together");
    CHECK_STATUS(op_run(&op_sum, &(struct binary_attrs){0}, op_ways[OP_FAST],
                        types, 2, &y, 1),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text, "input 1 is int64; expected float32");
    CHECK_STATUS(op_run(&op_exp, &(struct unary_attrs){0}, op_ways[OP_FAST],
                        one, 1, &y, 1),
                 ASSAY_UNSUPPORTED, &op_err);
    CHECK_STR(op_err.text, "Exp of bool is not defined");
    CHECK_STATUS(op_run(&op_matmul, NULL, op_ways[OP_FAST], shapes, 2, &y, 1),
                 ASSAY_BAD_INPUT, &op_err);
    CHECK_STR(op_err.text, "2x3 and 2x4 cannot be multiplied");
    op_release((struct tensor[]){a, b, c, truth}, 4);
}

TEST(reductions_of_any_axes_agree_with_plain_loops)
{
    struct random random = random_seed(5);
    struct tensor x = noise(&random, dims(3, 7, 37, 5, 0));
    static const int64_t axes[] = {0, -1};
    struct tensor list = integers(axes, dims(1, 2, 0, 0, 0));
    const struct tensor *inputs[] = {&x, &list};
    struct reduce_attrs attrs = {0};
    struct tensor sum = run_one(&op_reduce_sum, &attrs, inputs, 2);
    struct tensor most = run_one(&op_reduce_max, &attrs, inputs, 2);

    CHECK_INT(sum.shape.rank, 1);
    for (int64_t j = 0; j < 37; j++) {
        double want = 0, largest = -INFINITY;

        for (int64_t i = 0; i < 35; i++) {
            double v = (double)tensor_f32(&x)[(i / 5 * 37 + j) * 5 + i % 5];

            want += v;
            largest = fmax(largest, v);
        }
        CHECK_NEAR(tensor_f32(&sum)[j], want, 1e-5);
        CHECK(tensor_f32(&most)[j] == (float)largest);
    }
    op_release((struct tensor[]){x, list, sum, most}, 4);
}

TEST(a_long_sum_of_small_numbers_is_accurate)
{
    enum { n = 1 << 20 };
    struct tensor x = op_tensor(DTYPE_F32, dims(1, n, 0, 0, 0), NULL), y;
    const struct tensor *inputs[] = {&x};

    for (size_t i = 0; i < n; i++)
        tensor_f32(&x)[i] = i ? 1e-8F : 1;
    y = run_one(&op_reduce_sum, &(struct reduce_attrs){0}, inputs, 1);
    CHECK_NEAR(*tensor_f32(&y), 1 + 1e-8 * n, 1e-7);
    op_release((struct tensor[]){x, y}, 2);
}

TEST(products_of_broadcast_batches_agree_with_einsum)
{
    struct random random = random_seed(8);
    struct tensor a = noise(&random, dims(4, 2, 1, 5, 33));
    struct tensor b = noise(&random, dims(3, 3, 33, 4, 0));
    const struct tensor *both[] = {&a, &b};
    struct einsum_attrs attrs = {.equation = "...ij,...jk->...ik"};
    struct tensor want = run_one(&op_einsum, &attrs, both, 2);
    struct tensor got = run_one(&op_matmul, NULL, both, 2);

    check_same(&got, &want, 1e-5);
    op_release((struct tensor[]){a, b, want, got}, 4);
}

TEST(products_with_transpose_flags_equal_those_of_transposed_inputs)
{
    struct random random = random_seed(9);
    struct tensor a = noise(&random, dims(2, 6, 40, 0, 0));
    struct tensor b = noise(&random, dims(2, 7, 40, 0, 0));
    struct tensor c = noise(&random, dims(1, 7, 0, 0, 0));
    const struct tensor *inputs[] = {&a, &b, &c}, *both[] = {&a, &b};
    struct gemm_attrs gemm = {.alpha = 2, .beta = 3, .transposes_b = true};
    struct einsum_attrs attrs = {.equation = "ij,kj->ik"};
    struct tensor want = run_one(&op_einsum, &attrs, both, 2);
    struct tensor got = run_one(&op_gemm, &gemm, inputs, 3);

    for (size_t i = 0; i < 42; i++)
        CHECK_NEAR(tensor_f32(&got)[i],
                   2 * tensor_f32(&want)[i] + 3 * tensor_f32(&c)[i % 7], 1e-4);
    op_release((struct tensor[]){a, b, c, want, got}, 5);
}

/* Shapes of the two inputs; sizes of a letter are the same everywhere, 1 where
 * it is broadcast. */
struct equation {
    const char *text;
    struct shape a, b;
};

static void check_equation(const struct equation *equation)
{
    struct random random = random_seed(10);
    struct tensor a = noise(&random, equation->a);
    struct tensor b = noise(&random, equation->b);
    const struct tensor *both[] = {&a, &b};
    struct einsum_attrs attrs = {{0}};

    memcpy(attrs.equation, equation->text, strlen(equation->text));
    compare_ways(&op_einsum, &attrs, both, 2, 1, 1e-4);
    op_release((struct tensor[]){a, b}, 2);
}

TEST(products_of_letters_in_any_order_equal_their_sums)
{
    static const struct equation equations[] = {
        {"bghid,bghjd->bghij",
         {5, {2, 3, 4, 17, 9}},
         {5, {2, 3, 4, 13, 9}}}, /* rows by rows */
        {"bghij,bghjd->bghid", {5, {2, 3, 4, 17, 9}}, {5, {2, 3, 4, 9, 13}}},
        {"ij,jk->ki", {2, {65, 70}}, {2, {70, 31}}}, /* a transposed result */
        {"ij,kj->ki", {2, {65, 70}}, {2, {31, 70}}},
        {"bnhd,bmhd->bhnm", {4, {2, 33, 3, 20}}, {4, {2, 21, 3, 20}}},
        {"bhnm,bmhd->bnhd", {4, {2, 3, 33, 21}}, {4, {2, 21, 3, 20}}},
        {"bsd,dhk->bshk", {3, {2, 50, 64}}, {3, {64, 4, 8}}},
        {"bshk,hkd->bsd", {4, {2, 50, 4, 8}}, {3, {4, 8, 64}}},
        {"bshk,kdh->bsd", {4, {2, 50, 4, 8}}, {3, {8, 64, 4}}},
        {"bhwc,hkc->bhwk", {4, {3, 14, 15, 16}}, {3, {14, 27, 16}}},
        {"bhwc,wkc->bhwk", {4, {3, 14, 15, 16}}, {3, {15, 27, 16}}},
        {"nchw,ncp->nphw", {4, {2, 32, 9, 11}}, {3, {2, 32, 7}}},
        {"qc,chw->qhw", {2, {100, 64}}, {3, {64, 20, 21}}},
        {"bij,bkj->kbi", {3, {4, 30, 20}}, {3, {4, 50, 20}}},
        {"aibj,cjdi->dbac", {4, {3, 10, 5, 8}}, {4, {4, 8, 6, 10}}},
        {"i,j->ij", {1, {70}}, {1, {90}}},
        {"i,j->ji", {1, {70}}, {1, {90}}},
        {"ij,j->i", {2, {70, 90}}, {1, {90}}},
        {"i,ij->j", {1, {70}}, {2, {70, 90}}},
        {"i,i->", {1, {4000}}, {1, {4000}}},
        {"bi,bi->b", {2, {9, 600}}, {2, {9, 600}}},
        {"ij,ij->ji", {2, {30, 41}}, {2, {30, 41}}},
        {"...ij,...jk->...ik", {4, {2, 1, 5, 33}}, {3, {3, 33, 4}}},
        {"bij,bjk->bik", {3, {6, 20, 30}}, {3, {1, 30, 40}}},
        {"iij,jk->ik", {3, {20, 20, 30}}, {2, {30, 40}}}, /* a diagonal */
        {"ij,jkk->ik", {2, {20, 30}}, {3, {30, 9, 9}}},
        {"ijk,jl->il", {3, {8, 9, 10}}, {2, {9, 11}}}, /* k: not a product */
        {"bij,bjk->bik", {3, {200, 9, 8}}, {3, {200, 8, 7}}},
        {"bij,bjk->bik", {3, {0, 9, 8}}, {3, {0, 8, 7}}},
        {"bij,bjk->bik", {3, {4, 9, 0}}, {3, {4, 0, 7}}}};

    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++)
        check_equation(&equations[i]);
}

TEST(products_of_letters_are_exact_for_integers)
{
    static const int64_t large[] = {INT64_MAX, -3, 2, INT64_MIN, 5, 7};
    struct tensor a = integers(large, dims(2, 2, 3, 0, 0));
    struct tensor b = integers(large, dims(2, 2, 3, 0, 0));
    const struct tensor *both[] = {&a, &b};
    struct einsum_attrs attrs = {.equation = "ik,jk->ji"};

    compare_ways(&op_einsum, &attrs, both, 2, 1, 0);
    op_release((struct tensor[]){a, b}, 2);
}

TEST(an_equation_that_does_not_fit_is_refused)
{
    static const char *const bad[] = {"ij,jk",  "ij->ijkl,", "..i->i",
                                      "ijk->i", "ii,->",     "i,j,k->i"};
    struct tensor x = op_tensor(DTYPE_F32, dims(2, 2, 3, 0, 0), NULL), y;
    const struct tensor *inputs[] = {&x};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct einsum_attrs attrs = {{0}};

        memcpy(attrs.equation, bad[i], strlen(bad[i]));
        CHECK_STATUS(
            op_run(&op_einsum, &attrs, op_ways[OP_FAST], inputs, 1, &y, 1),
            ASSAY_BAD_INPUT, &op_err);
    }
    tensor_release(&x);
}

TEST(top_k_works_on_integers_and_on_an_inner_axis)
{
    static const int64_t values[] = {3, INT64_MIN, 3, INT64_MAX, 5, -1};
    static const int64_t two[] = {2};
    struct tensor x = integers(values, dims(2, 3, 2, 0, 0)), y[2];
    struct tensor k = integers(two, dims(1, 1, 0, 0, 0));
    const struct tensor *inputs[] = {&x, &k};
    struct top_k_attrs attrs = {.axis = 0};
    static const int64_t want[] = {5, INT64_MAX, 3, -1};
    static const int64_t at[] = {2, 1, 0, 2};

    CHECK_STATUS(op_run(&op_top_k, &attrs, op_ways[OP_FAST], inputs, 2, y, 2),
                 ASSAY_OK, &op_err);
    CHECK(memcmp(tensor_data(&y[0]), want, sizeof want) == 0);
    CHECK(memcmp(tensor_data(&y[1]), at, sizeof at) == 0);
    op_release(y, 2);
    *tensor_i64(&k) = 4;
    CHECK_STATUS(op_run(&op_top_k, &attrs, op_ways[OP_FAST], inputs, 2, y, 2),
                 ASSAY_BAD_INPUT, &op_err);
    op_release((struct tensor[]){x, k}, 2);
}

/* How many elements come before element i: NaNs last, the first of equal ones
 * first. */
static int64_t place_among(const float *x, int64_t n, int64_t i)
{
    int64_t place = 0;

    for (int64_t j = 0; j < n; j++) {
        bool is_equal = x[j] == x[i] || (isnan(x[j]) && isnan(x[i]));

        if (is_equal ? j < i : x[j] > x[i] || (isnan(x[i]) && !isnan(x[j])))
            place++;
    }
    return place;
}

TEST(top_k_of_many_finds_the_same_as_counting_what_comes_before)
{
    enum { n = 1500 };
    static const int64_t counts[] = {1, 7, 300, 751, n};
    struct tensor x = op_tensor(DTYPE_F32, dims(1, n, 0, 0, 0), NULL), y[2];
    struct top_k_attrs attrs = {.axis = 0};

    for (int64_t i = 0; i < n; i++) /* with ties, close ones, both signs */
        tensor_f32(&x)[i] = (float)(i * 7919 % 641 - 320) / 4096 + 0.01F;
    tensor_f32(&x)[40] = NAN;
    tensor_f32(&x)[900] = INFINITY;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct tensor k = integers(&counts[c], dims(1, 1, 0, 0, 0));
        const struct tensor *inputs[] = {&x, &k};

        CHECK_STATUS(
            op_run(&op_top_k, &attrs, op_ways[OP_FAST], inputs, 2, y, 2),
            ASSAY_OK, &op_err);
        for (int64_t i = 0; i < counts[c]; i++)
            CHECK_INT(place_among(tensor_f32(&x), n, tensor_i64(&y[1])[i]), i);
        op_release(y, 2);
        tensor_release(&k);
    }
    tensor_release(&x);
}
