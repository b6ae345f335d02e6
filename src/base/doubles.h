/* base/doubles.h - lists of numbers.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_DOUBLES_H
#define BASE_DOUBLES_H

#include <stddef.h>

/* The least one first. Without NaNs. */
void doubles_sort(double *values, size_t n);

#endif
