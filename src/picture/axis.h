/* picture/axis.h - maps values to places on a page, and chooses ticks.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PICTURE_AXIS_H
#define PICTURE_AXIS_H

#include <stdbool.h>
#include <stddef.h>

/* low maps to `from`, high to `to`, which may be smaller. */
struct axis {
    double low, high; /* above 0 on a logarithmic axis */
    double from, to;
    bool is_log;
};

double axis_place(const struct axis *axis, double value);

enum { AXIS_MAX_TICKS = 32 };

struct ticks {
    double values[AXIS_MAX_TICKS]; /* ascending, between low and high */
    size_t n;
};

/* About n (2 to 10) round values: 1, 2 or 5 times a power of ten; on a
 * logarithmic axis powers of ten, with 2 and 5 if those are few. */
struct ticks axis_ticks(const struct axis *axis, size_t n);

/* Extends low and high to round values. */
void axis_round(struct axis *axis, size_t n);

#endif
