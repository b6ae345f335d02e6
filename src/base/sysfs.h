/* base/sysfs.h - small files of the kernel, in /proc and /sys.
 *
 * Paths are made from a format, below a root folder, "" for the real one, so
 * that a test can fake a machine. Nothing here allocates.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SYSFS_H
#define BASE_SYSFS_H

#include <assay/status.h>

#include <stdbool.h>
#include <stddef.h>

/* The file as text, cut to size - 1 bytes; false if it is empty or cannot be
 * read. */
bool sysfs_read(char *text, size_t size, const char *root, const char *format,
                ...) ASSAY_PRINTF(4, 5);

/* The first line, without its newline; false if there is none. */
bool sysfs_line(char *line, size_t size, const char *root, const char *format,
                ...) ASSAY_PRINTF(4, 5);

/* The number that the file begins with; NaN if there is none. */
double sysfs_number(const char *root, const char *format, ...)
    ASSAY_PRINTF(2, 3);

/* What follows the key in the first line that begins with it, or NULL. */
const char *sysfs_field(const char *text, const char *key);

enum { SYSFS_MAX_CPUS = 8192 };

/* The next number of a list like "0-3,8"; -1 at its end, or if it is not a
 * list. Start with *at the text and *last -1. */
int sysfs_next(const char **at, int *last);

#endif
