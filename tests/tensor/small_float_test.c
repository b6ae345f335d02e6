/* Floating point types of 8 bits and less. The values are those of the tables
 * in the formats' papers: OCP's for E4M3, E5M2, E2M1 and E8M0. */
#include "tensor/small_float.h"

#include "tensor/convert.h"
#include "test.h"

#include <math.h>
#include <string.h>

static const struct {
    const struct small_float *type;
    unsigned n_codes;
    float smallest, largest;
} types[] = {
    {&small_float_e4m3fn, 256, 0x1p-9F, 448},
    {&small_float_e4m3fnuz, 256, 0x1p-10F, 240},
    {&small_float_e5m2, 256, 0x1p-16F, 57344},
    {&small_float_e5m2fnuz, 256, 0x1p-17F, 57344},
    {&small_float_e2m1, 16, 0.5F, 6},
};

enum { n_types = sizeof types / sizeof *types };

TEST(every_code_comes_back_from_float)
{
    for (size_t t = 0; t < n_types; t++) {
        for (unsigned code = 0; code < types[t].n_codes; code++) {
            float value = small_float_read(types[t].type, (uint8_t)code);
            uint8_t back = small_float_write(types[t].type, value, false);

            if (isnan(value))
                CHECK(isnan(small_float_read(types[t].type, back)));
            else
                CHECK_INT(back, code);
        }
    }
}

TEST(the_smallest_and_the_largest_numbers_are_those_of_the_formats)
{
    for (size_t t = 0; t < n_types; t++) {
        CHECK_NEAR(small_float_read(types[t].type, 1), types[t].smallest, 0);
        CHECK_NEAR(small_float_read(types[t].type, types[t].type->largest),
                   types[t].largest, 0);
    }
}

TEST(between_two_numbers_the_nearest_is_taken_and_ties_go_to_even)
{
    for (size_t t = 0; t < n_types; t++) {
        for (uint8_t code = 0; code < types[t].type->largest; code++) {
            float low = small_float_read(types[t].type, code);
            float high = small_float_read(types[t].type, (uint8_t)(code + 1));
            float middle = (low + high) / 2;

            CHECK_INT(small_float_write(types[t].type, middle, true),
                      code + code % 2);
            CHECK_INT(
                small_float_write(types[t].type, nextafterf(middle, low), true),
                code);
            CHECK_INT(small_float_write(types[t].type, nextafterf(middle, high),
                                        true),
                      code + 1);
        }
    }
}

TEST(what_is_too_large_is_held_or_becomes_infinite_or_nan)
{
    CHECK_NEAR(
        small_float_read(&small_float_e4m3fn,
                         small_float_write(&small_float_e4m3fn, -1e6F, true)),
        -448, 0);
    CHECK_INT(small_float_write(&small_float_e4m3fn, -INFINITY, false), 0xff);
    CHECK_INT(small_float_write(&small_float_e5m2, 1e9F, false), 0x7c);
    CHECK_INT(small_float_write(&small_float_e5m2, INFINITY, true), 0x7b);
    CHECK_INT(small_float_write(&small_float_e4m3fnuz, 1e9F, false), 0x80);
    /* It has neither. */
    CHECK_INT(small_float_write(&small_float_e2m1, 1e9F, false), 7);
}

TEST(minus_zero_is_zero_where_its_code_is_taken)
{
    CHECK_INT(small_float_write(&small_float_e5m2fnuz, -0.0F, true), 0);
    CHECK_INT(small_float_write(&small_float_e5m2fnuz, -1e-9F, true), 0);
    CHECK_INT(small_float_write(&small_float_e5m2, -0.0F, true), 0x80);
}

TEST(scales_are_powers_of_two)
{
    CHECK_NEAR(scale_float_read(127), 1, 0);
    CHECK_NEAR(scale_float_read(130), 8, 0);
    CHECK(isnan(scale_float_read(255)));
    CHECK_INT(scale_float_write(1.1F, true, SCALE_UP), 128);
    CHECK_INT(scale_float_write(1.9F, true, SCALE_DOWN), 127);
    CHECK_INT(scale_float_write(1.5F, true, SCALE_NEAREST), 128);
    CHECK_INT(scale_float_write(1.4F, true, SCALE_NEAREST), 127);
    CHECK_INT(scale_float_write(INFINITY, true, SCALE_UP), 254);
    CHECK_INT(scale_float_write(INFINITY, false, SCALE_UP), 255);
}

TEST(integers_of_few_bits_wrap_around)
{
    static const int64_t from[] = {-9, -8, 7, 8, 15, 16};
    static const int8_t to_i4[] = {7, -8, 7, -8, -1, 0};
    static const uint8_t to_u4[] = {7, 8, 7, 8, 15, 0};
    static const int8_t to_i2[] = {-1, 0, -1, 0, -1, 0};
    int8_t got[6];
    int64_t wide[6];

    convert_elements(DTYPE_I64, from, DTYPE_I4, got, 6);
    CHECK(memcmp(got, to_i4, 6) == 0);
    convert_elements(DTYPE_I4, got, DTYPE_I64, wide, 6);
    CHECK_INT(wide[0], 7);
    CHECK_INT(wide[1], -8);
    convert_elements(DTYPE_I64, from, DTYPE_U4, got, 6);
    CHECK(memcmp(got, to_u4, 6) == 0);
    convert_elements(DTYPE_I64, from, DTYPE_I2, got, 6);
    CHECK(memcmp(got, to_i2, 6) == 0);
}
