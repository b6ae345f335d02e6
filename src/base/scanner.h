/* base/scanner.h - reads small texts of a known form from left to right.
 *
 * Each function moves *at past what it read; if something else is there it
 * returns false and leaves *at alone.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SCANNER_H
#define BASE_SCANNER_H

#include <stdbool.h>
#include <stdint.h>

/* Exactly these bytes. */
bool scan_word(const char **at, const char *word);
/* Decimal digits for a number of at most `most`. */
bool scan_number(const char **at, uint64_t most, uint64_t *out);
/* Hexadecimal digits for a number that fits. */
bool scan_hex(const char **at, uint64_t *out);

/* Skips spaces and tabs, if any. */
void scan_blanks(const char **at);
/* Skips blanks, then everything up to the next blank. */
void scan_over(const char **at);

/* A line from a file such as /proc/meminfo: "MemTotal:  16384 kB". */
bool scan_field(const char *line, const char *name, uint64_t *out);

#endif
