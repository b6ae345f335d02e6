/* cli/shell_quote.h - quotes words for a shell.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SHELL_QUOTE_H
#define CLI_SHELL_QUOTE_H

#include "base/str.h"

#include <stdbool.h>

/* Appends the word in single quotes. */
enum assay_status shell_quote(struct str *to, const char *word);

/* The same, without quotes if it needs none. */
enum assay_status shell_word(struct str *to, const char *word);

/* Whether it needs no quotes: only letters, digits and a few signs. */
bool is_plain_word(const char *word);

#endif
