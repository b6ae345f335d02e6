/* base/term.h - what the screen can show, and fitting text to it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_TERM_H
#define BASE_TERM_H

#include "base/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct term {
    bool is_terminal;
    bool has_colour; /* a terminal, TERM not dumb, NO_COLOR unset or empty */
    bool has_utf8;   /* from LC_ALL, LC_CTYPE, LANG in that order */
    int width;       /* columns; COLUMNS, else the terminal's, else 100 */
};

/* How to write to a stream. */
struct term term_of(FILE *stream);
/* No colour, UTF-8, this width: for files and tests. */
struct term term_plain(int width);

enum term_style {
    STYLE_NONE,
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_RED,
    STYLE_GREEN,
    STYLE_YELLOW,
    STYLE_CYAN
};

/* The escape sequence, "" without colour; STYLE_NONE ends the others. */
const char *term_style(const struct term *term, enum term_style style);

/* Columns the text takes on the screen: none for combining marks, two for wide
 * East Asian characters. Bytes that are not UTF-8 and control characters take
 * one, as they are shown as '?'. */
size_t text_columns(const char *text);

/* Writes the text in exactly `columns` columns: padded, or shortened in the
 * middle with an ellipsis ("…", or "~" without UTF-8). Control characters and
 * broken UTF-8 come out as '?', so that a name cannot move the cursor. */
enum text_align { ALIGN_LEFT, ALIGN_RIGHT };
void text_fit(struct sink *sink, const struct term *term, const char *text,
              size_t columns, enum text_align align);
/* The same without padding or shortening, for the whole text or n bytes that do
 * not end inside a character. */
void text_put(struct sink *sink, const struct term *term, const char *text);
void text_put_n(struct sink *sink, const struct term *term, const char *text,
                size_t n);

/* A bar that fills `share` (0 to 1) of `columns` columns, in eighths; '#'
 * without UTF-8. Padded with spaces. */
void text_bar(struct sink *sink, const struct term *term, double share,
              size_t columns);
/* n values as one line of block characters; nothing without UTF-8. */
void text_sparkline(struct sink *sink, const struct term *term,
                    const double *values, size_t n);

#endif
