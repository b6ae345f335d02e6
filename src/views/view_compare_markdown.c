/* views/view_compare_markdown.c - a comparison for a pull request. */
#include "views/compare_words_internal.h"
#include "views/markdown.h"

static enum assay_status
compare_markdown_put_sentence(struct sink *sink,
                              const struct compare_view *options,
                              const char *label, const struct str *text)
{
    enum assay_status st;

    if (text->n == 0)
        return ASSAY_OK;
    sink_printf(sink, "**%s:** ", label);
    st = markdown_text(sink, &options->term, text->text);
    sink_puts(sink, "\n\n");
    return st;
}

static enum assay_status
compare_markdown_put_words(const struct comparison *comparison,
                           const struct compare_view *options,
                           struct sink *sink)
{
    struct str text = {0};
    enum assay_status st = compare_verdict_words(comparison, &text);

    if (!st)
        st = compare_markdown_put_sentence(sink, options, "Verdict", &text);
    str_clear(&text);
    if (!st && options->gate) {
        st = compare_gate_words(comparison, options->gate, &text);
        if (!st)
            st = compare_markdown_put_sentence(sink, options, "Gate", &text);
        str_clear(&text);
    }
    if (!st)
        st = compare_all_unlike(comparison, &text);
    if (!st)
        st = compare_markdown_put_sentence(sink, options, "Unlike", &text);
    str_clear(&text);
    if (!st)
        st = compare_caution_words(comparison, &text);
    if (!st)
        st = compare_markdown_put_sentence(sink, options, "Note", &text);
    str_release(&text);
    return st;
}

static enum assay_status
compare_markdown_put_side(const struct comparison *comparison,
                          struct sink *sink, const struct compare_view *options,
                          const char *label, const char *name,
                          const struct compare_side *side)
{
    struct str words = {0};
    enum assay_status st = compare_side_words(comparison, side, &words);

    sink_printf(sink, "%s: ", label);
    if (!st && name) {
        st = markdown_text(sink, &options->term, name);
        sink_puts(sink, ", ");
    }
    sink_puts(sink, str_text(&words));
    str_release(&words);
    return st;
}

static enum assay_status
compare_markdown_put_row(const struct comparison *comparison, size_t i,
                         const struct compare_view *options, struct sink *sink)
{
    const struct compare_row *row = compare_row(comparison, i);
    struct time_unit unit = compare_unit(comparison);
    char a[UNITS_MAX], b[UNITS_MAX], change[UNITS_MAX], interval[UNITS_MAX];
    char p[UNITS_MAX];
    struct str path = {0};
    enum assay_status st = compare_row_path(comparison, i, &path);

    sink_puts(sink, row->is_cause ? "| **" : "| ");
    if (!st)
        st = markdown_text(sink, &options->term, str_text(&path));
    sink_printf(
        sink, "%s | %s | %s | %s | %s | %s | %s |\n", row->is_cause ? "**" : "",
        compare_time_text(a, unit, row->a_ns),
        compare_time_text(b, unit, row->b_ns), compare_change_text(change, row),
        compare_interval_text(interval, row), compare_p_text(p, row),
        compare_mark(row));
    str_release(&path);
    return st;
}

static enum assay_status compare_markdown_put_table(
    const struct comparison *comparison, const struct compare_choice *choice,
    const struct compare_view *options, struct sink *sink)
{
    const char *unit = compare_unit(comparison).name;
    enum assay_status st = ASSAY_OK;

    sink_printf(sink,
                "| scope | A %s | B %s | change | interval %% | p | |\n"
                "|:--|--:|--:|--:|--:|--:|:--|\n",
                unit, unit);
    for (size_t i = 0; !st && i < compare_row_count(comparison); i++) {
        if (choice->is_shown[i])
            st = compare_markdown_put_row(comparison, i, options, sink);
    }
    return st;
}

enum assay_status view_compare_markdown(const struct comparison *comparison,
                                        const struct compare_view *options,
                                        struct sink *sink, struct error *err)
{
    struct compare_choice choice = {0};
    enum assay_status st =
        compare_choose(comparison, options->all, &choice, err);

    if (!st)
        st = compare_markdown_put_words(comparison, options, sink);
    if (!st)
        st = compare_markdown_put_table(comparison, &choice, options, sink);
    sink_puts(sink, "\n");
    if (!st)
        st = compare_markdown_put_side(comparison, sink, options, "A",
                                       options->name_a,
                                       compare_side_a(comparison));
    sink_puts(sink, "; ");
    if (!st)
        st = compare_markdown_put_side(comparison, sink, options, "B",
                                       options->name_b,
                                       compare_side_b(comparison));
    if (choice.n_hidden)
        sink_printf(sink, ". %zu more scopes are not listed", choice.n_hidden);
    sink_puts(sink, ".\n");
    compare_choice_release(&choice);
    if (st)
        return error_nomem(err, 0, "the text of a comparison");
    return sink_status(sink, err);
}
