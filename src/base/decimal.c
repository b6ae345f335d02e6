/* base/decimal.c - see decimal.h. */
#include "base/decimal.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    mantissa_digits = 19, /* always fit in 64 bits */
    max_exact_power = 22, /* 10^22 is the last one exact as a double */
    double_digits = 800,  /* more than needed to tell any two doubles apart */
    exponent_limit = 1 << 30 /* beyond every double and every text we hold */
};

static const double exact_powers[max_exact_power + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* mantissa * 10^exponent, and a little more if digits were cut off. */
struct decimal {
    uint64_t mantissa;
    int64_t exponent;
    bool is_negative;
    bool is_cut;    /* a non-zero digit was cut off */
    bool rounds_up; /* the first digit cut off was 5 or more */
};

/* ---- writing ---------------------------------------------------------- */

/* Thousandths, which most times are, need no search: below 10^15 the quotient
 * of two exact doubles is the double nearest to the decimal written. */
static size_t write_thousandths(char out[DECIMAL_MAX], double value)
{
    double scaled = value * 1000;
    int64_t whole;
    int n, digits = 3;

    if (!(fabs(scaled) < 1e15))
        return 0;
    whole = llrint(scaled);
    if ((double)whole / 1000 != value || (whole == 0 && signbit(value)))
        return 0;
    n = snprintf(out, DECIMAL_MAX, "%s%" PRId64 ".%03d", whole < 0 ? "-" : "",
                 whole < 0 ? -(whole / 1000) : whole / 1000,
                 abs((int)(whole % 1000)));
    while (digits > 0 && out[n - 1] == '0') {
        n--;
        digits--;
    }
    if (digits == 0)
        n--;
    out[n] = '\0';
    return (size_t)n;
}

/* Replaces the locale's decimal point, whatever it is, with '.'. */
static size_t restore_point(char *text)
{
    char *point = text + strspn(text, "+-0123456789");
    char *rest = point + strcspn(point, "0123456789e");

    if (rest == point)
        return strlen(text);
    *point++ = '.';
    memmove(point, rest, strlen(rest) + 1);
    return strlen(text);
}

size_t decimal_write(char out[DECIMAL_MAX], double value)
{
    size_t n = write_thousandths(out, value);
    /* 15 digits survive in a double unless it is denormal. */
    int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG;

    if (n)
        return n;
    for (; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(out, DECIMAL_MAX, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    return restore_point(out);
}

double decimal_round(double value, int digits)
{
    char text[DECIMAL_MAX];

    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    return strtod(text, NULL);
}

size_t decimal_write_rounded(char out[DECIMAL_MAX], double value, int digits)
{
    snprintf(out, DECIMAL_MAX, "%.*g", digits, value);
    /* As many digits as survive a double are already the shortest text. */
    if (!strchr(out, 'e'))
        return restore_point(out);
    return decimal_write(out, decimal_round(value, digits));
}

/* ---- reading ---------------------------------------------------------- */

static int64_t read_exponent(const char *text, const char *end)
{
    bool is_negative = text < end && *text == '-';
    int64_t value = 0;

    if (text < end && (*text == '-' || *text == '+'))
        text++;
    for (; text < end && value < exponent_limit; text++)
        value = value * 10 + (*text - '0');
    return is_negative ? -value : value;
}

static struct decimal decimal_read(const char *text, size_t n)
{
    struct decimal number = {.is_negative = n && *text == '-'};
    const char *end = text + n;
    bool has_point = false;
    int n_digits = 0;

    if (n && (*text == '-' || *text == '+'))
        text++;
    for (; text < end; text++) {
        unsigned digit = (unsigned)*text - '0';

        if (digit > 9) {
            if (*text != '.')
                break;
            has_point = true;
        } else if (n_digits < mantissa_digits) {
            number.mantissa = number.mantissa * 10 + digit;
            n_digits += number.mantissa != 0;
            number.exponent -= has_point;
        } else {
            if (n_digits++ == mantissa_digits)
                number.rounds_up = digit >= 5;
            number.is_cut |= digit != 0;
            number.exponent += !has_point;
        }
    }
    if (text < end)
        number.exponent += read_exponent(text + 1, end);
    return number;
}

/* Without a decimal point, strtod() reads the text the same way in every
 * locale. Digits too far right to matter only have to make it non-zero. */
static double read_long_double(const char *text, size_t n, int64_t exponent)
{
    char digits[double_digits + DECIMAL_MAX];
    size_t used = 0;

    for (size_t i = 0; i < n && text[i] != 'e' && text[i] != 'E'; i++) {
        if (text[i] < '0' || text[i] > '9' || (used == 0 && text[i] == '0'))
            continue;
        if (used < double_digits)
            digits[used++] = text[i];
        else if (text[i] != '0')
            digits[double_digits - 1] |= 1; /* '0' becomes '1' */
    }
    if (used > mantissa_digits)
        exponent -= (int64_t)used - mantissa_digits;
    if (exponent > exponent_limit)
        exponent = exponent_limit;
    if (exponent < -exponent_limit)
        exponent = -exponent_limit;
    snprintf(digits + used, sizeof digits - used, "e%" PRId64, exponent);
    return strtod(digits, NULL);
}

double decimal_double(const char *text, size_t n)
{
    struct decimal number = decimal_read(text, n);
    const uint64_t max_exact = UINT64_C(1) << DBL_MANT_DIG;
    double value;

    if (number.mantissa == 0)
        value = 0;
    else if (number.is_cut || number.mantissa > max_exact ||
             number.exponent < -max_exact_power ||
             number.exponent > max_exact_power)
        value = read_long_double(text, n, number.exponent);
    else if (number.exponent < 0)
        value = (double)number.mantissa / exact_powers[-number.exponent];
    else
        value = (double)number.mantissa * exact_powers[number.exponent];
    return number.is_negative ? -value : value;
}

static uint64_t power_of_ten(int64_t exponent)
{
    uint64_t power = 1;

    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* The magnitude times 10^shift; sets *has_rest if that is not an integer. */
static bool scale(const struct decimal *number, int64_t shift,
                  uint64_t *magnitude, bool *has_rest)
{
    uint64_t power, rest;

    *has_rest = number->is_cut;
    if (shift > mantissa_digits)
        return false;
    if (shift >= 0) {
        *magnitude = number->mantissa + number->rounds_up;
        return !(shift > 0 && number->is_cut) &&
               !__builtin_mul_overflow(*magnitude, power_of_ten(shift),
                                       magnitude);
    }
    if (shift < -mantissa_digits) {
        *magnitude = 0;
        *has_rest = true;
        return true;
    }
    power = power_of_ten(-shift);
    rest = number->mantissa % power;
    *magnitude = number->mantissa / power + (rest >= power - rest);
    *has_rest |= rest != 0;
    return true;
}

static bool read_fixed(const char *text, size_t n, int decimals, int64_t *value,
                       bool *has_rest)
{
    struct decimal number = decimal_read(text, n);
    uint64_t magnitude;

    if (number.mantissa == 0) {
        *value = 0;
        *has_rest = false;
        return true;
    }
    if (!scale(&number, number.exponent + decimals, &magnitude, has_rest) ||
        magnitude > (uint64_t)INT64_MAX + number.is_negative)
        return false;
    *value = number.is_negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool decimal_fixed(const char *text, size_t n, int decimals, int64_t *value)
{
    bool has_rest;

    return read_fixed(text, n, decimals, value, &has_rest);
}

bool decimal_int64(const char *text, size_t n, int64_t *value)
{
    int64_t whole;
    bool has_rest;

    if (!read_fixed(text, n, 0, &whole, &has_rest) || has_rest)
        return false;
    *value = whole;
    return true;
}
