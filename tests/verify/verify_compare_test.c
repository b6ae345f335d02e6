/* When a value matches the expected one. */
#include "test.h"
#include "verify/verify.h"

#include <math.h>
#include <string.h>

static struct pool *pool;

static struct tensor list_of(const float *numbers, size_t n)
{
    struct shape shape = shape_of(1, (int64_t)n);
    struct tensor tensor;

    CHECK_INT(tensor_new(pool, DTYPE_F32, &shape, &tensor, NULL), ASSAY_OK);
    memcpy(tensor_data(&tensor), numbers, n * sizeof *numbers);
    return tensor;
}

static struct verify_output compare(const float *got, const float *wanted,
                                    size_t n)
{
    struct verify_options options = {.rtol = 0.1, .atol = 0.01};
    struct verify_output output = {0};
    struct tensor a, b;

    CHECK_INT(pool_new(&pool, NULL), ASSAY_OK);
    a = list_of(got, n);
    b = list_of(wanted, n);
    verify_compare(&a, &b, &options, &output);
    tensor_release(&a);
    tensor_release(&b);
    pool_free(pool);
    return output;
}

TEST(the_tolerance_grows_with_the_expected_value)
{
    static const float wanted[] = {0, 10, -10};
    static const float near[] = {0.009f, 11, -10.9f};
    static const float far[] = {0.02f, 11.2f, -9.9f};
    struct verify_output output = compare(near, wanted, 3);

    CHECK(output.is_match);
    CHECK_NEAR(output.largest, 1, 1e-6);
    output = compare(far, wanted, 3);
    CHECK(!output.is_match);
    CHECK_INT(output.n_different, 2);
    CHECK_INT(output.at, 0);
    CHECK_NEAR(output.got, 0.02, 1e-6);
    CHECK_NEAR(output.wanted, 0, 0);
}

TEST(nan_and_infinities_match_only_themselves)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    static const float plain[] = {1, 1e30f, -1e30f};
    static const float other[] = {NAN, -INFINITY, INFINITY};

    CHECK(compare(odd, odd, 3).is_match);
    CHECK_INT(compare(odd, plain, 3).n_different, 3);
    CHECK_INT(compare(plain, odd, 3).n_different, 3);
    CHECK_INT(compare(odd, other, 3).n_different, 2);
}

TEST(another_shape_never_matches)
{
    struct verify_options options = {.rtol = 1, .atol = 1};
    struct shape wide = shape_of(2, INT64_C(1), INT64_C(2));
    static const float numbers[] = {1, 2};
    struct verify_output output = {0};
    struct tensor a, b;

    CHECK_INT(pool_new(&pool, NULL), ASSAY_OK);
    a = list_of(numbers, 2);
    b = tensor_reshape(&a, &wide);
    verify_compare(&a, &b, &options, &output);
    CHECK(!output.is_match);
    CHECK_INT(output.n_different, 0);
    b.shape = a.shape;
    b.dtype = DTYPE_I32;
    verify_compare(&a, &b, &options, &output);
    CHECK(!output.is_match);
    tensor_release(&a);
    tensor_release(&b);
    pool_free(pool);
}
