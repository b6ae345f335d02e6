/* views/summary_findings.c - the end of the summary: what would help. */
#include "findings/findings.h"
#include "views/json_parts_internal.h"
#include "views/summary_internal.h"

#include <stdio.h>
#include <string.h>

enum { INDENT = 5 };

/* Words from the indent on, as many on a line as there is room for. */
static size_t summary_findings_put_words(const struct summary *summary,
                                         const char *text, size_t column)
{
    const struct term *term = &summary->options->term;
    size_t width = (size_t)term->width;

    while (*text) {
        char word[128];
        size_t n = strcspn(text, " "), columns;

        n = n < sizeof word ? n : sizeof word - 1;
        memcpy(word, text, n);
        word[n] = '\0';
        columns = text_columns(word);
        if (column > INDENT && column + 1 + columns > width) {
            sink_puts(summary->sink, "\n");
            sink_repeat(summary->sink, " ", INDENT);
            column = INDENT;
        } else if (column > INDENT) {
            sink_puts(summary->sink, " ");
            column++;
        }
        text_put(summary->sink, term, word);
        column += columns;
        text += n;
        text += strspn(text, " ");
    }
    return column;
}

static void put_finding(const struct summary *summary,
                        const struct finding *finding, size_t number)
{
    char text[FINDING_TEXT + 2];
    size_t column;

    snprintf(text, sizeof text, "%s%s", finding->text,
             finding->help[0] ? ";" : "");
    sink_printf(summary->sink, "  %zu  ", number);
    column = summary_findings_put_words(summary, text, INDENT);
    summary_findings_put_words(summary, finding->help, column);
    sink_puts(summary->sink, "\n");
}

enum assay_status summary_findings(const struct summary *summary,
                                   struct error *err)
{
    const struct term *term = &summary->options->term;
    struct finding_list list;
    enum assay_status st = findings_find(summary->run, &list, err);

    if (st || list.n == 0)
        return st;
    sink_puts(summary->sink, term_style(term, STYLE_BOLD));
    sink_puts(summary->sink, "findings");
    sink_puts(summary->sink, term_style(term, STYLE_NONE));
    sink_puts(summary->sink, "\n");
    for (size_t i = 0; i < list.n; i++)
        put_finding(summary, &list.items[i], i + 1);
    return ASSAY_OK;
}

enum assay_status json_findings(struct json_writer *json, const struct run *run,
                                struct error *err)
{
    struct finding_list list;
    enum assay_status st = findings_find(run, &list, err);

    if (st)
        return st;
    json_key(json, "findings");
    json_array_begin(json);
    for (size_t i = 0; i < list.n; i++) {
        const struct finding *finding = &list.items[i];

        json_object_begin(json);
        json_member_string(json, "rule", finding->rule);
        json_member_double(json, "saved_ms", finding->saved_ns / 1e6);
        json_member_string(json, "text", finding->text);
        json_member_string(json, "help",
                           finding->help[0] ? finding->help : NULL);
        json_object_end(json);
    }
    json_array_end(json);
    return ASSAY_OK;
}
