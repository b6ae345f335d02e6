/* base/scanner.h - small texts of a known form, read from left to right.
 *
 * Each moves *at behind what it read; where something else stands there it is
 * false, and *at stays.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_SCANNER_H
#define BASE_SCANNER_H

#include <stdbool.h>
#include <stdint.h>

/* Exactly these bytes. */
bool scan_word(const char **at, const char *word);
/* Decimal digits that come to at most `most`. */
bool scan_number(const char **at, uint64_t most, uint64_t *out);
/* Hexadecimal digits that fit. */
bool scan_hex(const char **at, uint64_t *out);

/* Spaces and tabs, or none. */
void scan_blanks(const char **at);
/* Whatever is neither, after those. */
void scan_over(const char **at);

/* A line of files such as /proc/meminfo: "MemTotal:  16384 kB". */
bool scan_field(const char *line, const char *name, uint64_t *out);

#endif
