/* base/decimal.h - numbers to and from decimal text, whatever the locale says
 * a decimal point is.
 *
 * The texts read here are already known to be numbers:
 * [+-]digits[.digits][e[+-]digits], as JSON and TOML both have them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_MAX = 40 };

/* Writes the shortest text that reads back as the same double, which must be
 * finite, with a NUL behind it; returns its length. */
size_t decimal_write(char out[DECIMAL_MAX], double value);

/* The value rounded to so many significant digits (1 to 17). */
double decimal_round(double value, int digits);

/* decimal_write() of decimal_round(), for 1 to 15 digits, at the price of one
 * conversion for most. */
size_t decimal_write_rounded(char out[DECIMAL_MAX], double value, int digits);

/* The nearest double; an infinity where the number is too large for one. */
double decimal_double(const char *text, size_t n);

/* The number times 10^decimals, rounded to the nearest integer (halves away
 * from zero), exactly from the digits. False where that does not fit. */
bool decimal_fixed(const char *text, size_t n, int decimals, int64_t *value);

/* False where the number has a fraction or does not fit; 1.50e1 is 15. */
bool decimal_int64(const char *text, size_t n, int64_t *value);

#endif
