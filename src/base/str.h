/* base/str.h - a growing text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Initialise to {0}. text is NULL until something is appended, and
 * NUL-terminated after that. May hold NULs of its own; n counts them. */
struct str {
    char *text;
    size_t n, capacity;
};

void str_release(struct str *str);
void str_clear(struct str *str); /* keeps the memory */

/* The text, "" if nothing was appended. Borrowed until the next append. */
const char *str_text(const struct str *str);

/* The only failure is ASSAY_NOMEM; the text is then unchanged. */
enum assay_status str_append(struct str *str, const char *text);
enum assay_status str_append_n(struct str *str, const char *text, size_t n);
enum assay_status str_append_char(struct str *str, char c);
enum assay_status str_printf(struct str *str, const char *format, ...)
    ASSAY_PRINTF(2, 3);
enum assay_status str_vprintf(struct str *str, const char *format, va_list args)
    ASSAY_PRINTF(2, 0);

bool str_ends_with(const char *text, const char *ending);
/* The same for a text of n bytes. */
bool str_ends_with_n(const char *text, size_t n, const char *ending);

#endif
