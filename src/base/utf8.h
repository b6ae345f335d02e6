/* base/utf8.h - one character of UTF-8 at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The number of bytes (1 to 4) of the character at the start of text; 0 if the
 * first n bytes do not begin with a complete, well-formed one (overlong forms,
 * surrogates and codes above U+10FFFF are not). n is at least 1. */
size_t utf8_length(const char *text, size_t n);

/* Writes a character (not a surrogate, at most U+10FFFF); returns its number
 * of bytes. */
size_t utf8_encode(char out[4], uint32_t code);

#endif
