/* views/summary_end.c - summary lines about what went wrong and what is
 * next. */
#include "views/line.h"
#include "views/summary_internal.h"

#include <inttypes.h>
#include <string.h>

static void warn(const struct summary *summary, const char *text)
{
    struct line line =
        line_begin(summary->sink, &summary->options->term, "WARNING");

    line.style = STYLE_RED;
    line_sentence(&line, text);
    line_end(&line);
}

static void warn_count(const struct summary *summary, uint64_t n,
                       const char *one, const char *many)
{
    char text[160];

    if (n == 0)
        return;
    snprintf(text, sizeof text, "%" PRIu64 " %s", n, n == 1 ? one : many);
    warn(summary, text);
}

void summary_health(const struct summary *summary)
{
    const struct run_health *health = run_health_of(summary->run);

    if (health->is_incomplete)
        warn(summary, "incomplete: the program did not reach its end");
    warn_count(summary, health->lost_spans,
               "span was lost: counts and times are too small",
               "spans were lost: counts and times are too small");
    warn_count(summary, health->unbalanced_ends,
               "end without a begin was passed over",
               "ends without a begin were passed over");
    warn_count(summary, health->open_at_end,
               "span was still open at the end and is not counted",
               "spans were still open at the end and are not counted");
    warn_count(summary, health->too_deep,
               "span was nested too deep to be followed",
               "spans were nested too deep to be followed");
}

/* What the command that shows the run left, and what it has to say. */
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

/* The name of the run as a shell takes it. */
static enum assay_status quote(struct str *out, const char *source)
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
    struct line line =
        line_begin(summary->sink, &summary->options->term, "next");
    const char *source = summary->options->source;
    struct str name = {0};

    if (quote(&name, source ? source : "RUN")) {
        str_release(&name);
        return; /* advice is not worth a failure */
    }
    line.style = STYLE_DIM;
    if (summary->options->next)
        line_item(&line, summary->options->next);
    line_printf(&line, "assay show %s --table", str_text(&name));
    line_printf(&line, "assay trace %s -o trace.json", str_text(&name));
    line_printf(&line, "assay compare OLD %s", str_text(&name));
    line_end(&line);
    str_release(&name);
}
