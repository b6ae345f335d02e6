/* base/decimal.h - numbers to and from decimal text, independent of the locale.
 *
 * The texts read here are already known to be numbers:
 * [+-]digits[.digits][e[+-]digits], as in JSON and TOML.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_MAX = 40 };

/* Writes the shortest text that reads back as the same double, which must be
 * finite, with a NUL at its end; returns its length. */
size_t decimal_write(char out[DECIMAL_MAX], double value);

/* The value rounded to this many significant digits (1 to 17). */
double decimal_round(double value, int digits);

/* decimal_write() of decimal_round(), for 1 to 15 digits, usually in a single
 * conversion. */
size_t decimal_write_rounded(char out[DECIMAL_MAX], double value, int digits);

/* The nearest double; an infinity if the number is too large. */
double decimal_double(const char *text, size_t n);

/* The number times 10^decimals, rounded exactly to the nearest integer (halves
 * away from zero). False if that does not fit. */
bool decimal_fixed(const char *text, size_t n, int decimals, int64_t *value);

/* False if the number has a fraction or does not fit; 1.50e1 is 15. */
bool decimal_int64(const char *text, size_t n, int64_t *value);

#endif
