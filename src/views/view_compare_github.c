/* views/view_compare_github.c - a comparison on the screen, and after it the
 * lines that GitHub's runner shows as annotations of a pull request. */
#include "views/compare_words_internal.h"

/* In messages of workflow commands, % and line ends are escaped. */
static void github_put_text(struct sink *sink, const char *text)
{
    for (; *text; text++) {
        if (*text == '%')
            sink_puts(sink, "%25");
        else if (*text == '\n')
            sink_puts(sink, "%0A");
        else if (*text == '\r')
            sink_puts(sink, "%0D");
        else
            sink_write(sink, text, 1);
    }
}

/* A slow run fails the check, an undecided one warns. */
static const char *github_level(enum gate gate)
{
    switch (gate) {
    case GATE_PASSED:
        return "notice";
    case GATE_FAILED:
        return "error";
    case GATE_NOISY:
        return "warning";
    }
    return "";
}

enum assay_status view_compare_github(const struct comparison *comparison,
                                      const struct compare_view *options,
                                      struct sink *sink, struct error *err)
{
    struct str words = {0};
    enum assay_status st = view_compare(comparison, options, sink, err);

    if (st)
        return st;
    if (compare_gate_words(comparison, options->gate, &words))
        st = error_nomem(err, 0, "the text of a comparison");
    sink_printf(
        sink, "::%s title=assay compare::", github_level(options->gate->gate));
    github_put_text(sink, str_text(&words));
    sink_puts(sink, "\n");
    str_release(&words);
    return st ? st : sink_status(sink, err);
}
