/* cli/shell_quote.h - words as a shell takes them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SHELL_QUOTE_H
#define CLI_SHELL_QUOTE_H

#include "base/str.h"

#include <stdbool.h>

/* Appends the word in single quotation marks. */
enum assay_status shell_quote(struct str *to, const char *word);

/* The same, without the marks where it needs none. */
enum assay_status shell_word(struct str *to, const char *word);

/* Whether it needs none: letters, digits and a few signs alone. */
bool is_plain_word(const char *word);

#endif
