/* What base/units.h promises: numbers as people read them. */
#include "base/units.h"
#include "test.h"

#include <math.h>
#include <string.h>

static char buffer[UNITS_MAX];

TEST(numbers_have_three_significant_digits)
{
    CHECK_STR(units_number(buffer, 812), "812");
    CHECK_STR(units_number(buffer, 81.2), "81.2");
    CHECK_STR(units_number(buffer, 8.1234), "8.12");
    CHECK_STR(units_number(buffer, 0.8126), "0.813");
    CHECK_STR(units_number(buffer, 0.000812), "0.000812");
    CHECK_STR(units_number(buffer, -42), "-42.0");
    CHECK_STR(units_number(buffer, 123456), "123456");
    CHECK_STR(units_number(buffer, 0), "0");
}

TEST(numbers_that_round_up_keep_three_digits)
{
    CHECK_STR(units_number(buffer, 9.996), "10.0");
    CHECK_STR(units_number(buffer, 99.96), "100");
    CHECK_STR(units_number(buffer, 0.9996), "1.00");
}

TEST(rates_of_a_gpu_have_units_of_their_own)
{
    CHECK_STR(units_rate(buffer, 301, units_flops(301)), "301 GFLOP/s");
    CHECK_STR(units_rate(buffer, 9999, units_flops(9999)), "9999 GFLOP/s");
    CHECK_STR(units_rate(buffer, 416674, units_flops(416674)), "417 TFLOP/s");
    CHECK_STR(units_rate(buffer, 301, units_flops(NAN)), "301 GFLOP/s");
    CHECK_STR(units_rate(buffer, 54.2, units_bandwidth(54.2)), "54.2 GB/s");
    CHECK_STR(units_rate(buffer, 4176, units_bandwidth(4176)), "4.18 TB/s");
}

TEST(very_large_and_small_numbers_get_an_exponent)
{
    CHECK_STR(units_number(buffer, 1e-7), "1.00e-07");
    CHECK_STR(units_number(buffer, 2.5e15), "2.50e+15");
    CHECK_STR(units_number(buffer, 9e14), "900000000000000");
}

TEST(unknown_values_are_a_dash)
{
    CHECK_STR(units_number(buffer, NAN), "-");
    CHECK_STR(units_ms(buffer, NAN), "-");
    CHECK_STR(units_time(buffer, NAN), "-");
    CHECK_STR(units_bytes(buffer, NAN), "-");
    CHECK_STR(units_file_size(buffer, NAN), "-");
    CHECK_STR(units_count(buffer, NAN), "-");
    CHECK_STR(units_percent(buffer, NAN, 1), "-");
    CHECK_STR(units_number(buffer, INFINITY), "-");
}

TEST(milliseconds_in_columns_have_one_decimal_or_more_if_needed)
{
    CHECK_STR(units_ms(buffer, 784e6), "784.0");
    CHECK_STR(units_ms(buffer, 1234.56e6), "1234.6");
    CHECK_STR(units_ms(buffer, 0.4e6), "0.4");
    CHECK_STR(units_ms(buffer, 0.04e6), "0.04");
    CHECK_STR(units_ms(buffer, 0.004e6), "0.004");
    CHECK_STR(units_ms(buffer, 0.0996e6), "0.1");
    CHECK_STR(units_ms(buffer, 0), "0.0");
}

TEST(a_time_gets_the_unit_that_fits)
{
    CHECK_STR(units_time(buffer, 17), "17 ns");
    CHECK_STR(units_time(buffer, 17.25), "17.2 ns");
    CHECK_STR(units_time(buffer, 42e3), "42.0 us");
    CHECK_STR(units_time(buffer, 812e6), "812 ms");
    CHECK_STR(units_time(buffer, 1.23e9), "1.23 s");
    CHECK_STR(units_time(buffer, 200e9), "3 min 20 s");
    CHECK_STR(units_time(buffer, 7500e9), "2 h 5 min");
    CHECK_STR(units_time(buffer, 0), "0 ns");
}

TEST(a_time_is_never_a_thousand_of_a_unit)
{
    CHECK_STR(units_time(buffer, 999.6), "1.00 us");
    CHECK_STR(units_time(buffer, 999.6e3), "1.00 ms");
    CHECK_STR(units_time(buffer, 999.6e6), "1.00 s");
    CHECK_STR(units_time(buffer, 59.96e9), "1 min 0 s");
}

TEST(memory_is_counted_in_powers_of_two_and_files_in_powers_of_ten)
{
    CHECK_STR(units_bytes(buffer, 17), "17 B");
    CHECK_STR(units_bytes(buffer, 612.0 * 1024 * 1024), "612 MiB");
    CHECK_STR(units_bytes(buffer, 1.5 * 1024 * 1024 * 1024), "1.5 GiB");
    CHECK_STR(units_file_size(buffer, 17), "17 B");
    CHECK_STR(units_file_size(buffer, 20480), "20.5 kB");
    CHECK_STR(units_file_size(buffer, 400000), "0.4 MB");
    CHECK_STR(units_file_size(buffer, 2.1e9), "2.1 GB");
}

TEST(counts_below_a_thousand_are_whole)
{
    CHECK_STR(units_count(buffer, 17), "17");
    CHECK_STR(units_count(buffer, 1.5), "1.50");
    CHECK_STR(units_count(buffer, 20000), "20.0 k");
    CHECK_STR(units_count(buffer, 41755286), "41.8 M");
    CHECK_STR(units_count(buffer, 134.4e9), "134 G");
}

TEST(shares_are_percent_with_an_optional_sign)
{
    CHECK_STR(units_percent(buffer, 0.051, 1), "+5.1 %");
    CHECK_STR(units_percent(buffer, -0.003, 1), "-0.3 %");
    CHECK_STR(units_percent(buffer, 0.12, 0), "12 %");
    CHECK_STR(units_percent(buffer, 0.0996, 0), "10 %");
    CHECK_STR(units_percent(buffer, -0.0001, 1), "0.0 %");
    CHECK_STR(units_percent(buffer, 0, 1), "0 %");
}

TEST(no_number_outgrows_its_buffer)
{
    static const double values[] = {1e300, -1e300, 1.7e14, -9.99e14, 5e-324};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        CHECK(strlen(units_number(buffer, values[i])) < UNITS_MAX - 1);
        CHECK(strlen(units_ms(buffer, values[i])) < UNITS_MAX - 1);
        CHECK(strlen(units_bytes(buffer, values[i])) < UNITS_MAX - 1);
        CHECK(strlen(units_count(buffer, values[i])) < UNITS_MAX - 1);
        CHECK(strlen(units_percent(buffer, values[i], 1)) < UNITS_MAX - 1);
    }
}
