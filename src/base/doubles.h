/* base/doubles.h - lists of numbers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_DOUBLES_H
#define BASE_DOUBLES_H

#include <stddef.h>

/* Sorts ascending. No value may be NaN. */
void doubles_sort(double *values, size_t n);

#endif
