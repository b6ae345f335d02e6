/* views/line.h - a labelled line of the screen: "latency  median 812 ms   ...".
 *
 * Items that do not fit any more go on to the next line, under the first.
 * Whatever an item holds is made safe to show.
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
    size_t column;         /* 0: nothing was written yet */
    size_t indent;         /* of the lines that it goes on in */
};

enum { LINE_INDENT = 9 };

/* Nothing is written before the first item: a line without any is none. */
struct line line_begin(struct sink *sink, const struct term *term,
                       const char *label);
/* One that goes on behind text of so many columns that the caller wrote. */
struct line line_behind(struct sink *sink, const struct term *term,
                        size_t column, size_t indent);
void line_item(struct line *line, const char *text);
void line_printf(struct line *line, const char *format, ...) ASSAY_PRINTF(2, 3);
/* The same, one space behind what stands before it. */
void line_word(struct line *line, const char *format, ...) ASSAY_PRINTF(2, 3);
/* An item that may break between any two words; the same, one space behind
 * what stands before it. */
void line_sentence(struct line *line, const char *text);
void line_words(struct line *line, const char *text);
void line_end(struct line *line);

#endif
