/* views/line.c - see line.h. */
#include "views/line.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ITEM_GAP = 3 };

struct line line_begin(struct sink *sink, const struct term *term,
                       const char *label)
{
    return (struct line){
        .sink = sink, .term = term, .label = label, .indent = LINE_INDENT};
}

struct line line_after(struct sink *sink, const struct term *term,
                       size_t column, size_t indent)
{
    return (struct line){
        .sink = sink, .term = term, .column = column, .indent = indent};
}

/* Moves to where an item of this width begins. */
static void line_make_place(struct line *line, size_t columns, size_t gap)
{
    struct sink *sink = line->sink;
    size_t width = (size_t)line->term->width;

    if (line->column == 0) {
        sink_puts(sink, term_style(line->term, STYLE_BOLD));
        text_fit(sink, line->term, line->label, LINE_INDENT - 1, ALIGN_LEFT);
        sink_puts(sink, term_style(line->term, STYLE_NONE));
        sink_puts(sink, " ");
        line->column = LINE_INDENT;
    } else if (line->column + gap + columns > width) {
        sink_puts(sink, "\n");
        sink_repeat(sink, " ", line->indent);
        line->column = line->indent;
    } else {
        sink_repeat(sink, " ", gap);
        line->column += gap;
    }
}

static void line_put_item(struct line *line, const char *text, size_t gap)
{
    size_t columns = text_columns(text);
    size_t most = (size_t)line->term->width - line->indent;

    if (line->is_single && line->column &&
        line->column + gap + columns > (size_t)line->term->width)
        return;
    if (columns > most)
        columns = most;
    line_make_place(line, columns, gap);
    if (line->style)
        sink_puts(line->sink, term_style(line->term, line->style));
    text_fit(line->sink, line->term, text, columns, ALIGN_LEFT);
    if (line->style)
        sink_puts(line->sink, term_style(line->term, STYLE_NONE));
    line->column += columns;
}

void line_item(struct line *line, const char *text)
{
    line_put_item(line, text, ITEM_GAP);
}

/* Whether the text begins with a unit: "ms," but not "msg". */
static bool line_is_unit(const char *text)
{
    static const char *const units[] = {
        "%",   "ns", "us", "ms", "s",    "min",  "KiB",     "MiB",
        "GiB", "MB", "GB", "kB", "GB/s", "TB/s", "GFLOP/s", "TFLOP/s"};
    size_t n = strcspn(text, " ,;:)]");

    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i]) == n && strncmp(text, units[i], n) == 0)
            return true;
    }
    return false;
}

/* The length of the first word; a number and its unit are one. */
static size_t line_word_length(const char *text)
{
    size_t n = strcspn(text, " ");

    if (n && text[n] && strchr("0123456789", text[n - 1]) &&
        line_is_unit(text + n + 1))
        n += 1 + strcspn(text + n + 1, " ");
    return n;
}

static void line_put_words(struct line *line, const char *text, size_t gap)
{
    if (line->is_single && *text) {
        line_put_item(line, text, gap);
        return;
    }
    while (*text) {
        enum { end = 60 }; /* kept of a word that fits on no screen */
        char word[128];
        size_t n = line_word_length(text);

        if (n < sizeof word)
            snprintf(word, sizeof word, "%.*s", (int)n, text);
        else
            snprintf(word, sizeof word, "%.*s...%.*s", end, text, end,
                     text + n - end);
        line_put_item(line, word, gap);
        gap = 1;
        text += n;
        text += strspn(text, " ");
    }
}

void line_sentence(struct line *line, const char *text)
{
    line_put_words(line, text, ITEM_GAP);
}

void line_words(struct line *line, const char *text)
{
    line_put_words(line, text, 1);
}

static void line_put_vprintf(struct line *line, size_t gap, const char *format,
                             va_list args) ASSAY_PRINTF(3, 0);

static void line_put_vprintf(struct line *line, size_t gap, const char *format,
                             va_list args)
{
    struct str text = {0};

    if (str_vprintf(&text, format, args))
        line->sink->failed_errno = ENOMEM;
    else
        line_put_item(line, str_text(&text), gap);
    str_release(&text);
}

void line_printf(struct line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line_put_vprintf(line, ITEM_GAP, format, args);
    va_end(args);
}

void line_word(struct line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line_put_vprintf(line, 1, format, args);
    va_end(args);
}

void line_end(struct line *line)
{
    if (line->column)
        sink_puts(line->sink, "\n");
}
