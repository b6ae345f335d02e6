/* Elements of one type as another. */
#include "tensor/convert.h"

#include "tensor/half.h"
#include "test.h"

#include <float.h>
#include <string.h>

TEST(every_half_comes_back_from_float)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float value = half_to_float((uint16_t)bits);

        if (isnan(value))
            CHECK(isnan(half_to_float(half_from_float(value))));
        else
            CHECK_INT(half_from_float(value), bits);
    }
}

TEST(every_bfloat_comes_back_from_float)
{
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) {
        float value = bfloat_to_float((uint16_t)bits);

        if (isnan(value))
            CHECK(isnan(bfloat_to_float(bfloat_from_float(value))));
        else
            CHECK_INT(bfloat_from_float(value), bits);
    }
}

TEST(halves_round_to_the_nearest_and_ties_to_even)
{
    /* From 1 on, neighbours are 2^-10 apart. */
    CHECK_INT(half_from_float(1 + 0x1p-11F), 0x3c00);
    CHECK_INT(half_from_float(1 + 3 * 0x1p-11F), 0x3c02);
    CHECK_INT(half_from_float(1 + 0x1.2p-11F), 0x3c01);
    /* A carry into the exponent, the largest, and past it. */
    CHECK_INT(half_from_float(2 - 0x1p-12F), 0x4000);
    CHECK_INT(half_from_float(65519), 0x7bff);
    CHECK_INT(half_from_float(65520), 0x7c00);
    CHECK_INT(half_from_float(-FLT_MAX), 0xfc00);
    /* Below the smallest normal one, and half of the smallest. */
    CHECK_INT(half_from_float(0x1p-24F), 1);
    CHECK_INT(half_from_float(0x1p-25F), 0);
    CHECK_INT(half_from_float(3 * 0x1p-25F), 2);
    CHECK_INT(bfloat_from_float(1 + 0x1p-8F), 0x3f80);
    CHECK_INT(bfloat_from_float(1 + 3 * 0x1p-8F), 0x3f82);
}

static int64_t convert_one(enum dtype dtype, double value)
{
    int64_t out = 0;

    convert_elements(DTYPE_F64, &value, dtype, &out, 1);
    return out;
}

TEST(floating_point_numbers_are_cut_and_held_within_64_bits)
{
    CHECK_INT(convert_one(DTYPE_I64, 2.9), 2);
    CHECK_INT(convert_one(DTYPE_I64, -2.9), -2);
    CHECK_INT(convert_one(DTYPE_I64, 1e300), INT64_MAX);
    CHECK_INT(convert_one(DTYPE_I64, -INFINITY), INT64_MIN);
    CHECK_INT(convert_one(DTYPE_I64, NAN), 0);
    CHECK((uint64_t)convert_one(DTYPE_U64, 1e300) == UINT64_MAX);
    CHECK_INT(convert_one(DTYPE_BOOL, 0.25), 1);
    CHECK_INT(convert_one(DTYPE_BOOL, NAN), 1);
    CHECK_INT(convert_one(DTYPE_BOOL, -0.0), 0);
}

TEST(integers_lose_their_upper_bits_and_truth_is_one)
{
    const int32_t from[] = {-1, 256, 300, INT32_MIN};
    int8_t bytes[4];
    uint8_t truths[4];

    convert_elements(DTYPE_I32, from, DTYPE_I8, bytes, 4);
    CHECK_INT(bytes[0], -1);
    CHECK_INT(bytes[1], 0);
    CHECK_INT(bytes[2], 44);
    convert_elements(DTYPE_I32, from, DTYPE_BOOL, truths, 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(truths[i], 1);
}

TEST(lists_of_any_length_go_through_every_pair_of_types)
{
    enum { n = 1300 }; /* more than two blocks */
    static double numbers[n], back[n];
    static char other[n * 8];

    for (int i = 0; i < n; i++)
        numbers[i] = i % 100;
    for (enum dtype a = DTYPE_F32; a < DTYPE_BOOL; a++) {
        for (enum dtype b = DTYPE_F32; b < DTYPE_BOOL; b++) {
            static char first[n * 8];

            convert_elements(DTYPE_F64, numbers, a, first, n);
            convert_elements(a, first, b, other, n);
            convert_elements(b, other, DTYPE_F64, back, n);
            CHECK(memcmp(back, numbers, sizeof back) == 0);
        }
    }
}
