/* What base/decimal.h and base/utf8.h promise. */
#include "base/decimal.h"
#include "base/random.h"
#include "base/utf8.h"
#include "test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *written(double value)
{
    static char text[DECIMAL_MAX];
    size_t n = decimal_write(text, value);

    CHECK_INT(n, strlen(text));
    return text;
}

static const char *rounded(double value, int digits)
{
    static char text[DECIMAL_MAX];
    size_t n = decimal_write_rounded(text, value, digits);

    CHECK_INT(n, strlen(text));
    return text;
}

static double read_back(const char *text)
{
    return decimal_double(text, strlen(text));
}

TEST(the_shortest_text_is_written)
{
    CHECK_STR(written(0), "0");
    CHECK_STR(written(-0.0), "-0");
    CHECK_STR(written(0.1), "0.1");
    CHECK_STR(written(-0.5), "-0.5");
    CHECK_STR(written(1234.567), "1234.567");
    CHECK_STR(written(-12.25), "-12.25");
    CHECK_STR(written(1000), "1000");
    CHECK_STR(written(1.0 / 3), "0.3333333333333333");
    CHECK_STR(written(0.1 + 0.2), "0.30000000000000004");
    CHECK_STR(written(1e22), "1e+22");
    CHECK_STR(written(5e-324), "5e-324");
    CHECK_STR(written(DBL_MAX), "1.7976931348623157e+308");
    CHECK_STR(written(9007199254740993.0), "9007199254740992");
}

/* Random bit patterns: every finite double is equally likely. */
TEST(any_double_reads_back_as_itself)
{
    struct random random = random_seed(7);

    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_u64(&random);
        double value, thousandths = (double)(bits >> 20) / 1000;

        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            CHECK(read_back(written(value)) == value);
        CHECK(read_back(written(thousandths)) == thousandths);
    }
}

TEST(reading_agrees_with_strtod_on_hard_cases)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "1",
        "+1.5",
        "9007199254740993",
        "9007199254740992.99999999999999999",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000123",
        "1e22",
        "1e23",
        "8.5e-324",
        "2.4703282292062328e-324",
        "2.4703282292062327e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "1e400",
        "1e-400",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "0e99999999999999999999",
        "000000000000000000000000000000000001.25",
        "179769313486231580793728971405303415079934132710037826936173778980444"
        "968292764750946649017977587207096330286416692887910946555547851940402"
        "630657488671505820681908902000708383676273854845817711531764475730270"
        "069855571366959622842914819860834936475292719074168444365510704342711"
        "559699508093042880",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        double got = read_back(texts[i]), want = strtod(texts[i], NULL);

        if (memcmp(&got, &want, sizeof got) != 0)
            fail_msg("%s is read as %.17g", texts[i], got);
    }
}

/* 1 + 2^-53 lies half way between two doubles; one more digit, far to the
 * right, decides. */
TEST(a_digit_after_hundreds_decides_a_tie)
{
    char text[2000] = "1.00000000000000011102230246251565404236316680908203125";

    CHECK(read_back(text) == 1);
    memset(text + strlen(text), '0', 1500);
    CHECK(read_back(text) == 1);
    text[strlen(text)] = '1';
    CHECK(read_back(text) == 1 + DBL_EPSILON);
}

TEST(fixed_numbers_are_rounded_from_their_digits)
{
    static const struct {
        const char *text;
        int decimals;
        int64_t want;
    } rows[] = {
        {"1623143566756.123", 3, 1623143566756123},
        {"0.0005", 3, 1},
        {"0.00049999999999999999999999", 3, 0},
        {"-0.0005", 3, -1},
        {"-2.5", 0, -3},
        {"1.5e3", 3, 1500000},
        {"15E-1", 0, 2},
        {"12345e-30", 3, 0},
        {"9223372036854775.807", 3, INT64_MAX},
        {"-9223372036854775.808", 3, INT64_MIN},
        {"9223372036854775806.5", 0, INT64_MAX},
        {"9223372036854775806.49", 0, INT64_MAX - 1},
        {"0e99999999999", 3, 0},
        {"0.00000000000000000000000000000001e32", 3, 1000},
        {"99999999999999999999e-20", 0, 1},
        {"0.5000000000000000000000001", 0, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t got = -77;

        if (!decimal_fixed(rows[i].text, strlen(rows[i].text), rows[i].decimals,
                           &got) ||
            got != rows[i].want)
            fail_msg("%s is %lld", rows[i].text, (long long)got);
    }
}

TEST(fixed_numbers_that_do_not_fit_are_refused)
{
    static const char *const texts[] = {
        "9223372036854775.8075", "-9223372036854775.8085", "1e16",
        "1e99999999999999999999", "123456789012345678901234567890"};
    int64_t value = 5;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK(!decimal_fixed(texts[i], strlen(texts[i]), 3, &value));
    CHECK_INT(value, 5);
}

TEST(integers_may_be_written_with_a_point_or_an_exponent)
{
    int64_t value = 0;

    CHECK(decimal_int64("1.50e1", 6, &value));
    CHECK_INT(value, 15);
    CHECK(decimal_int64("-9223372036854775808", 20, &value));
    CHECK_INT(value, INT64_MIN);
    CHECK(!decimal_int64("9223372036854775808", 19, &value));
    CHECK(!decimal_int64("1.5", 3, &value));
    CHECK(!decimal_int64("1e-30", 5, &value));
    CHECK(!decimal_int64("1.00000000000000000000000000001", 31, &value));
    CHECK_INT(value, INT64_MIN);
}

/* Compiles a locale of its own, so that none needs to be installed. */
TEST(a_comma_as_decimal_point_changes_nothing)
{
    char command[1024];

    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s' >/dev/null 2>&1",
             test_path("de_DE"));
    if (system(command) != 0 || setenv("LOCPATH", test_path("."), 1) != 0 ||
        !setlocale(LC_ALL, "de_DE"))
        SKIP("comma locale: localedef has no sources here (package locales)");
    CHECK_INT(localeconv()->decimal_point[0], ',');
    CHECK_STR(written(1.0 / 3), "0.3333333333333333");
    CHECK_STR(written(1.25e-20), "1.25e-20");
    CHECK_STR(written(0.5), "0.5");
    CHECK(read_back("0.3333333333333333") == 1.0 / 3);
    CHECK(read_back("12345678901234567890.5e1") == 123456789012345678905.0);
    CHECK_NEAR(decimal_round(2.0 / 3, 3), 0.667, 1e-15);
    CHECK_STR(rounded(2.0 / 3, 3), "0.667");
    setlocale(LC_ALL, "C");
}

TEST(rounded_text_equals_the_text_of_the_rounded_number)
{
    static const double values[] = {0,        -0.0,     1,       2.0 / 3,
                                    1e6,      999999.5, 1234567, 0.00012345678,
                                    1.5e-300, 1e22,     -31.25,  99999.96};

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (int digits = 1; digits <= 15; digits++)
            CHECK_STR(rounded(values[i], digits),
                      written(decimal_round(values[i], digits)));
    }
    CHECK_STR(rounded(745.48481944, 6), "745.485");
    CHECK_STR(rounded(0.1, 15), "0.1");
}

TEST(characters_of_every_length_are_measured)
{
    char out[4];

    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        size_t n = utf8_encode(out, code);
        bool is_surrogate = code >= 0xd800 && code < 0xe000;

        if (utf8_length(out, n) != (is_surrogate ? 0 : n))
            fail_msg("U+%04X", code);
        if (n > 1 && utf8_length(out, n - 1) != 0)
            fail_msg("U+%04X cut short", code);
    }
    CHECK_INT(utf8_encode(out, 0x20ac), 3);
    CHECK_INT(memcmp(out, "\xe2\x82\xac", 3), 0);
}

TEST(bytes_that_are_not_utf8_have_no_length)
{
    static const char *const texts[] = {"\x80",
                                        "\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xe0\x80\x80",
                                        "\xe0\x9f\xbf",
                                        "\xf0\x80\x80\x80",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf5\x80",
                                        "\xff",
                                        "\xc3\x28",
                                        "\xe2\x28\xa1",
                                        "\xe2\x82\x28",
                                        "\xf4\x90\x80\x80"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK_INT(utf8_length(texts[i], strlen(texts[i])), 0);
}
