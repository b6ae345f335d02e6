/* base/csv_text.h - text as a field of comma-separated values (RFC 4180).
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CSV_TEXT_H
#define BASE_CSV_TEXT_H

#include "base/sink.h"

#include <stdbool.h>

/* Writes the text, in quotes if needed; quotes inside are doubled. Control
 * characters and broken UTF-8 come out as '?', as on the screen. A text that a
 * spreadsheet would take for a formula, because it begins with one of = + - @
 * and is not a number, gets an apostrophe in front. So does a text that already
 * has apostrophes there, so that csv_meant() returns the original. */
void csv_text(struct sink *sink, const char *text);

/* Undoes csv_text()'s apostrophe: the text after it, or the field itself. */
const char *csv_meant(const char *field);

/* Whether a text is a decimal number: [+-]digits[.digits][e[+-]digits]. */
bool csv_is_number(const char *text);

#endif
