/* machine/sysfs_internal.h - small files of the kernel.
 *
 * SPDX-License-Identifier: MIT */
#ifndef MACHINE_SYSFS_INTERNAL_H
#define MACHINE_SYSFS_INTERNAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* The first line of the file, without its end; false where there is none. The
 * path is made from the format, below root. */
bool sysfs_line(char *line, size_t size, const char *root, const char *format,
                ...) ASSAY_PRINTF(4, 5);

/* The number that the file begins with; NaN where it begins with none. */
double sysfs_number(const char *root, const char *format, ...)
    ASSAY_PRINTF(2, 3);

enum { SYSFS_MAX_CPUS = 8192 };

/* The next number of a list like "0-3,8", -1 at its end or where it is no
 * list. Start with *at the text and *last -1. */
int sysfs_next(const char **at, int *last);

#endif
