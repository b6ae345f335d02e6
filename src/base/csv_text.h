/* base/csv_text.h - text as a field of comma-separated values (RFC 4180).
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_CSV_TEXT_H
#define BASE_CSV_TEXT_H

#include "base/sink.h"

#include <stdbool.h>

/* Quoted where it must be; quotes are doubled. Control characters and broken
 * UTF-8 come out as '?', as on the screen. A text that a spreadsheet would take
 * for a formula, because it begins with one of = + - @ and is no number, has an
 * apostrophe before it; where apostrophes stand before such a text already it
 * has one more, so that csv_meant() gets back what was written. */
void csv_text(struct sink *sink, const char *text);

/* What a field that csv_text() wrote means: the text behind its apostrophe, or
 * the text itself. */
const char *csv_meant(const char *field);

/* Whether a text is a decimal number as [+-]digits[.digits][e[+-]digits]. */
bool csv_is_number(const char *text);

#endif
