/* views/csv_text.h - text as a field of comma-separated values (RFC 4180).
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_CSV_TEXT_H
#define VIEWS_CSV_TEXT_H

#include "base/sink.h"

/* Quoted where it must be; quotes are doubled. */
void csv_text(struct sink *sink, const char *text);

#endif
