/* views/view_compare_junit.c - the verdicts of a gate as JUnit's XML, which
 * most services for continuous integration show. */
#include "base/utf8.h"
#include "views/compare_words_internal.h"

#include <math.h>
#include <string.h>

/* Text for XML 1.0, which cannot hold control characters or broken UTF-8. */
static void junit_put_text(struct sink *sink, const char *text)
{
    size_t n = strlen(text), length;

    for (; n > 0; text += length, n -= length) {
        length = utf8_length(text, n);
        if (*text == '&')
            sink_puts(sink, "&amp;");
        else if (*text == '<')
            sink_puts(sink, "&lt;");
        else if (*text == '>')
            sink_puts(sink, "&gt;");
        else if (*text == '"')
            sink_puts(sink, "&quot;");
        else if (length == 0 || (unsigned char)*text < ' ')
            sink_puts(sink, "?");
        else
            sink_write(sink, text, length);
        length = length ? length : 1;
    }
}

static void junit_put_message(struct sink *sink, const char *element,
                              const char *message)
{
    sink_printf(sink, "    <%s message=\"", element);
    junit_put_text(sink, message);
    sink_puts(sink, "\"/>\n");
}

/* The time of a test is that of the scope in B. */
static enum assay_status junit_put_row(const struct comparison *comparison,
                                       size_t i, const struct gate_row *verdict,
                                       struct sink *sink)
{
    const struct compare_row *row = compare_row(comparison, i);
    struct str path = {0}, words = {0};
    enum assay_status st = compare_row_path(comparison, i, &path);

    if (!st)
        st = compare_judged_words(comparison, i, &words);
    if (!st)
        st = str_printf(&words, " %s its budget of %g %%",
                        verdict->gate == GATE_FAILED  ? "is over"
                        : verdict->gate == GATE_NOISY ? "may be over"
                                                      : "is within",
                        100 * verdict->above);
    sink_puts(sink, "  <testcase classname=\"assay\" name=\"");
    junit_put_text(sink, str_text(&path));
    sink_printf(sink, "\" time=\"%.9f\"",
                isnan(row->b_ns) ? 0 : row->b_ns / 1e9);
    if (verdict->gate == GATE_PASSED) {
        sink_puts(sink, "/>\n");
    } else {
        sink_puts(sink, ">\n");
        junit_put_message(sink,
                          verdict->gate == GATE_FAILED ? "failure" : "skipped",
                          str_text(&words));
        sink_puts(sink, "  </testcase>\n");
    }
    str_release(&path);
    str_release(&words);
    return st;
}

enum assay_status view_compare_junit(const struct comparison *comparison,
                                     const struct compare_view *options,
                                     struct sink *sink, struct error *err)
{
    const struct gate_result *gate = options->gate;
    enum assay_status st = ASSAY_OK;
    struct str words = {0};
    size_t n = 0;

    for (size_t i = 0; i < compare_row_count(comparison); i++)
        n += gate->rows[i].is_judged;
    st = compare_gate_words(comparison, gate, &words);
    sink_printf(sink,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<testsuite name=\"assay compare\" tests=\"%zu\" "
                "failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
                n, gate->n_failed, gate->n_noisy);
    for (size_t i = 0; !st && i < compare_row_count(comparison); i++) {
        if (gate->rows[i].is_judged)
            st = junit_put_row(comparison, i, &gate->rows[i], sink);
    }
    sink_puts(sink, "  <system-out>");
    junit_put_text(sink, str_text(&words));
    sink_puts(sink, "</system-out>\n</testsuite>\n");
    str_release(&words);
    if (st)
        return error_nomem(err, 0, "the text of a comparison");
    return sink_status(sink, err);
}
