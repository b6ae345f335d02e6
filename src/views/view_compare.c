/* views/view_compare.c - two sides on a screen: what differs, and how surely.
 */
#include "views/branch_internal.h"
#include "views/compare_words_internal.h"
#include "views/line.h"

#include <math.h>
#include <stdio.h>

enum {
    LEAST_NAME = 12, /* columns of a name, however deep it is */
    MOST_NAME = 60,
    TIME_COLUMNS = 9,
    CHANGE_COLUMNS = 9,
    INTERVAL_COLUMNS = 16,
    P_COLUMNS = 8,
    MARK_COLUMNS = 12 /* with the gap before it */
};

/* The columns of a line. */
struct compare_layout {
    const struct comparison *comparison;
    const struct compare_choice *choice;
    const struct term *term;
    struct sink *sink;
    struct time_unit unit;
    size_t name; /* columns */
    bool has_interval, has_p;
};

static struct compare_layout
compare_layout_of(const struct comparison *comparison,
                  const struct compare_choice *choice, const struct term *term,
                  struct sink *sink)
{
    size_t width = (size_t)term->width;
    size_t taken = 2 * TIME_COLUMNS + CHANGE_COLUMNS + MARK_COLUMNS;
    struct compare_layout layout = {
        .comparison = comparison,
        .choice = choice,
        .term = term,
        .sink = sink,
        .unit = compare_unit(comparison),
        .has_interval = width >= LEAST_NAME + taken + INTERVAL_COLUMNS,
        .has_p = width >= 90};

    if (layout.has_interval)
        taken += INTERVAL_COLUMNS;
    if (layout.has_p)
        taken += P_COLUMNS;
    layout.name = width > taken + LEAST_NAME ? width - taken : LEAST_NAME;
    if (layout.name > MOST_NAME)
        layout.name = MOST_NAME;
    return layout;
}

static void compare_put_right(const struct compare_layout *layout,
                              const char *text, size_t columns)
{
    text_fit(layout->sink, layout->term, text, columns, ALIGN_RIGHT);
}

static void compare_put_style(const struct compare_layout *layout,
                              enum term_style style)
{
    sink_puts(layout->sink, term_style(layout->term, style));
}

static enum term_style compare_view_row_style(const struct compare_row *row)
{
    if (row->match == MATCH_ADDED || row->match == MATCH_REMOVED)
        return STYLE_YELLOW;
    if (row->is_counted)
        return row->ratio > 1 ? STYLE_RED : STYLE_GREEN;
    return row->match == MATCH_RENAMED ? STYLE_CYAN : STYLE_DIM;
}

static size_t compare_put_branches(const struct compare_layout *layout,
                                   size_t at)
{
    const struct compare_row *row = compare_row(layout->comparison, at);
    size_t most = (layout->name - LEAST_NAME) / BRANCH_COLUMNS, n = 0;
    bool goes_on[BRANCH_MAX_LEVELS];

    if (row->depth == 0 || most == 0)
        return 0;
    if (most > BRANCH_MAX_LEVELS)
        most = BRANCH_MAX_LEVELS;
    for (size_t i = row->parent; n + 1 < row->depth && n + 1 < most;
         i = compare_row(layout->comparison, i)->parent)
        goes_on[n++] = layout->choice->has_next[i];
    return branch_put(layout->sink, layout->term, goes_on, n,
                      layout->choice->has_next[at]);
}

/* The name; for a renamed scope also the one in A. */
static enum assay_status compare_put_name(const struct compare_layout *layout,
                                          size_t at, size_t columns)
{
    const struct comparison *comparison = layout->comparison;
    const struct compare_row *row = compare_row(comparison, at);
    const struct run *a = compare_side_a(comparison)->runs[0];
    struct str text = {0};
    enum assay_status st =
        str_append(&text, compare_row_scope(comparison, at)->name);

    if (!st && row->match == MATCH_RENAMED && row->parent != RUN_NONE)
        st = str_printf(&text, " (was %s)", run_scope(a, row->a)->name);
    if (row->is_cause)
        compare_put_style(layout, STYLE_BOLD);
    text_fit(layout->sink, layout->term, str_text(&text), columns, ALIGN_LEFT);
    if (row->is_cause)
        compare_put_style(layout, STYLE_NONE);
    str_release(&text);
    return st;
}

static void compare_put_head(const struct compare_layout *layout)
{
    char title[32];

    compare_put_style(layout, STYLE_BOLD);
    text_fit(layout->sink, layout->term, "scope", layout->name, ALIGN_LEFT);
    snprintf(title, sizeof title, "A %s", layout->unit.name);
    compare_put_right(layout, title, TIME_COLUMNS);
    snprintf(title, sizeof title, "B %s", layout->unit.name);
    compare_put_right(layout, title, TIME_COLUMNS);
    compare_put_right(layout, "change", CHANGE_COLUMNS);
    if (layout->has_interval)
        compare_put_right(layout, "interval %", INTERVAL_COLUMNS);
    if (layout->has_p)
        compare_put_right(layout, "p", P_COLUMNS);
    compare_put_style(layout, STYLE_NONE);
    sink_puts(layout->sink, "\n");
}

static enum assay_status compare_put_row(const struct compare_layout *layout,
                                         size_t at)
{
    const struct compare_row *row = compare_row(layout->comparison, at);
    char text[UNITS_MAX];
    size_t taken = compare_put_branches(layout, at);
    enum assay_status st = compare_put_name(layout, at, layout->name - taken);

    compare_put_right(layout, compare_time_text(text, layout->unit, row->a_ns),
                      TIME_COLUMNS);
    compare_put_right(layout, compare_time_text(text, layout->unit, row->b_ns),
                      TIME_COLUMNS);
    compare_put_style(layout, compare_view_row_style(row));
    compare_put_right(layout, compare_change_text(text, row), CHANGE_COLUMNS);
    if (layout->has_interval)
        compare_put_right(layout, compare_interval_text(text, row),
                          INTERVAL_COLUMNS);
    if (layout->has_p)
        compare_put_right(layout, compare_p_text(text, row), P_COLUMNS);
    sink_puts(layout->sink, "  ");
    sink_puts(layout->sink, compare_mark(row));
    compare_put_style(layout, STYLE_NONE);
    sink_puts(layout->sink, "\n");
    return st;
}

static enum assay_status
compare_view_put_rows(const struct compare_layout *layout)
{
    enum assay_status st = ASSAY_OK;

    compare_put_head(layout);
    for (size_t i = 0; !st && i < compare_row_count(layout->comparison); i++) {
        if (layout->choice->is_shown[i])
            st = compare_put_row(layout, i);
    }
    if (layout->choice->n_hidden) {
        compare_put_style(layout, STYLE_DIM);
        sink_printf(layout->sink, "   %zu more scope%s hidden (--all)\n",
                    layout->choice->n_hidden,
                    layout->choice->n_hidden == 1 ? " is" : "s are");
        compare_put_style(layout, STYLE_NONE);
    }
    if (!layout->has_interval) {
        compare_put_style(layout, STYLE_DIM);
        sink_puts(layout->sink,
                  "   no room for the intervals on this screen\n");
        compare_put_style(layout, STYLE_NONE);
    }
    return st;
}

static enum assay_status compare_put_side(const struct compare_layout *layout,
                                          const char *label, const char *name,
                                          const struct compare_side *side)
{
    struct line line = line_begin(layout->sink, layout->term, label);
    struct str words = {0};
    enum assay_status st = compare_side_words(layout->comparison, side, &words);

    line_item(&line, str_text(&words));
    if (name)
        line_item(&line, name);
    line_end(&line);
    str_release(&words);
    return st;
}

static enum assay_status
compare_view_put_unlike(const struct compare_layout *layout)
{
    struct line line = line_begin(layout->sink, layout->term, "unlike");
    struct compare_unlike unlike;
    struct str words = {0};
    enum assay_status st = ASSAY_OK;
    size_t next = 0;

    line.style = STYLE_YELLOW;
    while (!st && compare_unlike(layout->comparison, &next, &unlike)) {
        str_clear(&words);
        st = compare_unlike_words(&unlike, &words);
        line_item(&line, str_text(&words));
    }
    line_end(&line);
    str_release(&words);
    return st;
}

static void compare_view_put_whole(const struct compare_layout *layout)
{
    const struct compare_row *row = compare_row(layout->comparison, 0);
    struct line line = line_begin(layout->sink, layout->term, "whole");
    char a[UNITS_MAX], b[UNITS_MAX];

    line_printf(&line, "A %s", units_time(a, row->a_ns));
    line_printf(&line, "B %s", units_time(b, row->b_ns));
    if (!isnan(row->ratio) && !compare_is_open(row))
        line_printf(&line, "%s %s", compare_change_text(a, row),
                    compare_interval_text(b, row));
    line.style = row->is_counted ? compare_view_row_style(row) : STYLE_NONE;
    line_item(&line, row->is_counted        ? compare_mark(row)
                     : row->is_significant  ? "too small a difference to count"
                     : isnan(row->ratio)    ? "not tested"
                     : compare_is_open(row) ? compare_interval_text(b, row)
                                            : "no difference beyond noise");
    line_end(&line);
}

static void compare_put_sentence(const struct compare_layout *layout,
                                 const char *label, enum term_style style,
                                 const struct str *text)
{
    struct line line = line_begin(layout->sink, layout->term, label);

    line.style = style;
    line_sentence(&line, str_text(text));
    line_end(&line);
}

static enum assay_status
compare_view_put_verdict(const struct compare_layout *layout)
{
    struct str text = {0};
    enum assay_status st = compare_verdict_words(layout->comparison, &text);

    compare_put_sentence(layout, "verdict", STYLE_NONE, &text);
    str_clear(&text);
    if (!st)
        st = compare_caution_words(layout->comparison, &text);
    compare_put_sentence(layout, "note", STYLE_DIM, &text);
    str_release(&text);
    return st;
}

static enum assay_status
compare_view_put_gate(const struct compare_layout *layout,
                      const struct gate_result *gate)
{
    static const enum term_style styles[] = {[GATE_PASSED] = STYLE_GREEN,
                                             [GATE_FAILED] = STYLE_RED,
                                             [GATE_NOISY] = STYLE_YELLOW};
    struct str text = {0};
    enum assay_status st = compare_gate_words(layout->comparison, gate, &text);

    compare_put_sentence(layout, "gate", styles[gate->gate], &text);
    str_release(&text);
    return st;
}

static enum assay_status
compare_view_put_all(const struct compare_layout *layout,
                     const struct compare_view *options)
{
    enum assay_status st;

    st = compare_put_side(layout, "A", options->name_a,
                          compare_side_a(layout->comparison));
    if (!st)
        st = compare_put_side(layout, "B", options->name_b,
                              compare_side_b(layout->comparison));
    if (options->how) {
        struct line line = line_begin(layout->sink, layout->term, "runs");

        line_item(&line, options->how);
        line_end(&line);
    }
    if (!st)
        st = compare_view_put_unlike(layout);
    compare_view_put_whole(layout);
    sink_puts(layout->sink, "\n");
    if (!st)
        st = compare_view_put_rows(layout);
    sink_puts(layout->sink, "\n");
    if (!st)
        st = compare_view_put_verdict(layout);
    if (!st && options->gate)
        st = compare_view_put_gate(layout, options->gate);
    return st;
}

enum assay_status view_compare(const struct comparison *comparison,
                               const struct compare_view *options,
                               struct sink *sink, struct error *err)
{
    struct compare_choice choice = {0};
    enum assay_status st =
        compare_choose(comparison, options->all, &choice, err);

    if (!st) {
        struct compare_layout layout =
            compare_layout_of(comparison, &choice, &options->term, sink);

        st = compare_view_put_all(&layout, options);
        if (st)
            error_nomem(err, 0, "the text of a comparison");
    }
    compare_choice_release(&choice);
    return st ? st : sink_status(sink, err);
}
