/* views/line.h - a labelled line of the screen: "latency  median 812 ms   ...".
 *
 * Items that do not fit continue on the next line, below the first item. Any
 * bytes in an item are made safe to show.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_LINE_H
#define VIEWS_LINE_H

#include "base/sink.h"
#include "base/term.h"

struct line {
    struct sink *sink;
    const struct term *term;
    const char *label;
    enum term_style style; /* of the items */
    size_t column;         /* 0: nothing is written yet */
    size_t indent;         /* of continuation lines */
    /* Never continued: an item that does not fit is left out, the first one is
     * shortened. A sentence is one item. */
    bool is_single;
};

enum { LINE_INDENT = 9 };

/* A line without items is not written at all. */
struct line line_begin(struct sink *sink, const struct term *term,
                       const char *label);
/* Continues after text of so many columns that the caller wrote. */
struct line line_after(struct sink *sink, const struct term *term,
                       size_t column, size_t indent);
void line_item(struct line *line, const char *text);
void line_printf(struct line *line, const char *format, ...) ASSAY_PRINTF(2, 3);
/* The same, after one space. */
void line_word(struct line *line, const char *format, ...) ASSAY_PRINTF(2, 3);
/* An item that may break between words; the same, after one space. */
void line_sentence(struct line *line, const char *text);
void line_words(struct line *line, const char *text);
void line_end(struct line *line);

#endif
