/* views/summary_end.c - the end of the summary: what would help, what went
 * wrong, what to do next. */
#include "findings/findings.h"
#include "views/summary_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- findings ----------------------------------------------------------- */

enum { INDENT = 5 };

/* "  1  TEXT; HELP" */
static void summary_put_finding(const struct summary *summary,
                                const struct finding *finding, size_t number)
{
    struct line line =
        line_after(summary->sink, &summary->options->term, INDENT - 1, INDENT);
    char text[FINDING_TEXT + 2];

    snprintf(text, sizeof text, "%s%s", finding->text,
             finding->help[0] ? ";" : "");
    sink_printf(summary->sink, "  %zu ", number);
    line_words(&line, text);
    line_words(&line, finding->help);
    line_end(&line);
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
        summary_put_finding(summary, &list.items[i], i + 1);
    return ASSAY_OK;
}

/* ---- what went wrong and what to do next -------------------------------- */

static void summary_warn(const struct summary *summary, const char *text)
{
    struct line line = summary_line(summary, "WARNING");

    line.style = STYLE_RED;
    line_sentence(&line, text);
    line_end(&line);
}

static void summary_warn_count(const struct summary *summary, uint64_t n,
                               const char *one, const char *many)
{
    char text[160];

    if (n == 0)
        return;
    snprintf(text, sizeof text, "%" PRIu64 " %s", n, n == 1 ? one : many);
    summary_warn(summary, text);
}

void summary_health(const struct summary *summary)
{
    const struct run_health *health = run_health_of(summary->run);

    if (health->is_incomplete)
        summary_warn(summary, "incomplete: the program did not finish");
    summary_warn_count(summary, health->lost_spans,
                       "span was lost: counts and times are too small",
                       "spans were lost: counts and times are too small");
    summary_warn_count(summary, health->unbalanced_ends,
                       "end without a begin was ignored",
                       "ends without a begin were ignored");
    summary_warn_count(summary, health->open_at_end,
                       "span was still open at the end and is not counted",
                       "spans were still open at the end and are not counted");
    summary_warn_count(summary, health->too_deep,
                       "span was nested too deep to be followed",
                       "spans were nested too deep to be followed");
}

/* The files that the command wrote, and what it has to say. */
void summary_wrote(const struct summary *summary)
{
    const struct view_options *options = summary->options;
    struct line wrote = line_begin(summary->sink, &options->term, "wrote");
    struct line note = line_begin(summary->sink, &options->term, "note");

    if (options->wrote)
        line_sentence(&wrote, options->wrote);
    line_end(&wrote);
    if (options->note)
        line_sentence(&note, options->note);
    line_end(&note);
}

/* The name of the run, quoted for a shell. */
static enum assay_status summary_quote(struct str *out, const char *source)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./+,:@%";
    enum assay_status st;

    if (source[0] && source[strspn(source, plain)] == '\0')
        return str_append(out, source);
    st = str_append_char(out, '\'');
    for (; !st && *source; source++) {
        st = *source == '\'' ? str_append(out, "'\\''")
                             : str_append_char(out, *source);
    }
    return st ? st : str_append_char(out, '\'');
}

void summary_next(const struct summary *summary)
{
    struct line line = summary_line(summary, "next");
    const char *source = summary->options->source;
    struct str name = {0};

    if (summary_quote(&name, source ? source : "RUN")) {
        str_release(&name);
        return; /* a suggestion is not worth a failure */
    }
    line.style = STYLE_DIM;
    if (summary->options->next)
        line_item(&line, summary->options->next);
    if (summary->is_brief)
        line_printf(&line, "assay show %s --full", str_text(&name));
    line_printf(&line, "assay show %s --table", str_text(&name));
    line_printf(&line, "assay trace %s -o trace.json", str_text(&name));
    line_printf(&line, "assay compare OLD %s", str_text(&name));
    line_end(&line);
    str_release(&name);
}
