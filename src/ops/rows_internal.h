/* ops/rows_internal.h - copies rows that lie at a distance from each other.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_ROWS_INTERNAL_H
#define OPS_ROWS_INTERNAL_H

#include <stddef.h>
#include <string.h>

static inline void rows_copy_known(char *to, size_t to_step, const char *from,
                                   size_t from_step, size_t bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * to_step, from + i * from_step, bytes);
}

/* Copies n rows of so many bytes; the steps are bytes from one row to the next.
 * Coordinates and scores are short: a call of memcpy() takes longer than such a
 * copy, so the usual lengths are constants that the compiler sees. */
static inline void rows_copy(char *to, size_t to_step, const char *from,
                             size_t from_step, size_t bytes, size_t n)
{
    if (bytes == 4)
        rows_copy_known(to, to_step, from, from_step, 4, n);
    else if (bytes == 8)
        rows_copy_known(to, to_step, from, from_step, 8, n);
    else if (bytes == 16)
        rows_copy_known(to, to_step, from, from_step, 16, n);
    else
        rows_copy_known(to, to_step, from, from_step, bytes, n);
}

#endif
