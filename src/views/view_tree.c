/* views/view_tree.c - the modules of a run as a tree, see tree_internal.h. */
#include "views/tree_internal.h"

#include "base/units.h"
#include "views/branch_internal.h"
#include "views/columns_internal.h"
#include "views/line.h"
#include "views/training_internal.h"

#include <errno.h>
#include <stdio.h>

enum {
    LEAST_NAME = 8, /* columns of a name, however deep it is */
    DEEP_NAME = 28, /* columns of a name with the branches of six levels */
    TIME_COLUMNS = 10,
    SHARE_COLUMNS = 7,
    CALLS_COLUMNS = 8,
    GMAC_COLUMNS = 8,
    GFLOPS_COLUMNS = 9,
    KEPT_COLUMNS = 10,
    BOUND_COLUMNS = 9
};

/* The columns of a line. */
struct tree_layout {
    const struct run *run;
    const struct rows *rows;
    const struct tree_choice *choice;
    const struct term *term;
    struct sink *sink;
    struct time_unit unit;
    size_t name, class_name, bar; /* columns; 0: none */
    bool has_work;                /* columns for MACs and their rate */
    bool has_bounds;              /* a column for the bound */
    bool has_kept;            /* a column for what the backward pass needs */
    bool has_self, has_calls; /* columns for these, of other runs */
};

static struct tree_layout tree_layout_of(const struct run *run,
                                         const struct rows *rows,
                                         const struct tree_choice *choice,
                                         const struct term *term,
                                         struct sink *sink)
{
    size_t width = (size_t)term->width;
    /* Minimum width for columns besides the times. */
    size_t roomy = rows->has_passes ? 120 : 72;
    struct tree_layout layout = {.run = run,
                                 .rows = rows,
                                 .choice = choice,
                                 .term = term,
                                 .sink = sink,
                                 .unit = rows_unit(rows)};
    size_t taken = TIME_COLUMNS + SHARE_COLUMNS;

    layout.has_self = !rows->has_passes && width >= 48;
    layout.has_calls = !rows->has_passes && width >= 56;
    if (rows->has_passes)
        taken += N_PASSES * TIME_COLUMNS;
    if (layout.has_self)
        taken += TIME_COLUMNS;
    if (layout.has_calls)
        taken += CALLS_COLUMNS;
    if (rows->has_device && !rows->has_passes)
        taken += TIME_COLUMNS;
    layout.has_kept = rows->has_passes && width >= 72;
    if (layout.has_kept)
        taken += KEPT_COLUMNS;
    /* The rest shares what the columns for work leave. */
    layout.has_work = rows->has_macs && width >= roomy;
    if (layout.has_work)
        width -= GMAC_COLUMNS + GFLOPS_COLUMNS;
    layout.has_bounds = rows->has_bounds && width >= roomy;
    if (layout.has_bounds)
        width -= BOUND_COLUMNS;
    if (width >= (rows->has_passes ? 96 : 72))
        layout.bar = width >= 100 ? 16 : 10;
    if (rows->has_classes && width >= 110)
        layout.class_name = width >= 140 ? 30 : 20;
    /* Names that show their place in the tree are worth more than bars. */
    if (rows->has_device && width < taken + layout.bar + DEEP_NAME)
        layout.bar = 0;
    taken += layout.bar + (layout.bar > 0) + layout.class_name;
    layout.name = width > taken + LEAST_NAME ? width - taken : LEAST_NAME;
    if (layout.name > 64)
        layout.name = 64; /* numbers too far from their names get lost */
    return layout;
}

static void tree_put_right(const struct tree_layout *layout, const char *text,
                           size_t columns)
{
    text_fit(layout->sink, layout->term, text, columns, ALIGN_RIGHT);
}

static void tree_put_style(const struct tree_layout *layout,
                           enum term_style style)
{
    sink_puts(layout->sink, term_style(layout->term, style));
}

/* A time in the unit of the head. */
static void tree_put_time(const struct tree_layout *layout, double ns)
{
    char text[UNITS_MAX];

    /* units_ms() shows a millionth of what it is given. */
    tree_put_right(layout, units_ms(text, ns / layout->unit.ns * 1e6),
                   TIME_COLUMNS);
}

/* "│  ├─ ", for the levels from first on; levels that do not fit are left out
 * on the left. Returns the number of columns written. */
static size_t tree_put_branches(const struct tree_layout *layout, size_t at,
                                uint32_t first)
{
    const struct rows *rows = layout->rows;
    bool lines[BRANCH_MAX_LEVELS];
    size_t levels = rows->items[at].depth - first, n = 0, most;

    if (levels == 0)
        return 0;
    most = (layout->name - LEAST_NAME) / BRANCH_COLUMNS;
    if (most > sizeof lines)
        most = sizeof lines;
    for (size_t i = rows->items[at].parent; n + 1 < levels && n + 1 < most;
         i = rows->items[i].parent)
        lines[n++] = layout->choice->has_next[i];
    return branch_put(layout->sink, layout->term, lines, n,
                      layout->choice->has_next[at]);
}

/* On a device the passes are those of its time, and the host's is one. */
static bool tree_has_device_passes(const struct tree_layout *layout)
{
    return layout->rows->has_passes && layout->rows->has_device;
}

static void tree_put_pass_titles(const struct tree_layout *layout)
{
    static const char *const titles[N_PASSES] = {[PASS_FORWARD] = "forward",
                                                 [PASS_BACKWARD] = "backward",
                                                 [PASS_OPTIMIZER] =
                                                     "optimizer"};

    for (enum pass i = 0; i < N_PASSES; i++) {
        if (i != PASS_OPTIMIZER || !layout->rows->has_device)
            tree_put_right(layout, titles[i], TIME_COLUMNS);
    }
}

static void tree_put_head(const struct tree_layout *layout)
{
    char title[32];

    tree_put_style(layout, STYLE_BOLD);
    text_fit(layout->sink, layout->term, "module", layout->name, ALIGN_LEFT);
    if (layout->class_name)
        text_fit(layout->sink, layout->term, "  class", layout->class_name,
                 ALIGN_LEFT);
    snprintf(title, sizeof title, "%s %s",
             tree_has_device_passes(layout) ? "host" : "total",
             layout->unit.name);
    tree_put_right(layout, title, TIME_COLUMNS);
    if (layout->has_self)
        tree_put_right(layout, "self", TIME_COLUMNS);
    if (layout->rows->has_device)
        tree_put_right(layout, "device", TIME_COLUMNS);
    if (layout->rows->has_passes)
        tree_put_pass_titles(layout);
    tree_put_right(layout, "share", SHARE_COLUMNS);
    if (layout->bar)
        sink_repeat(layout->sink, " ", layout->bar + 1);
    if (layout->has_kept)
        tree_put_right(layout, "kept MiB", KEPT_COLUMNS);
    if (layout->has_calls)
        tree_put_right(layout, "calls", CALLS_COLUMNS);
    if (layout->has_work) {
        tree_put_right(layout, "GMAC", GMAC_COLUMNS);
        tree_put_right(layout, rows_rate(layout->rows).name, GFLOPS_COLUMNS);
    }
    if (layout->has_bounds)
        sink_puts(layout->sink, "  bound");
    tree_put_style(layout, STYLE_NONE);
    sink_puts(layout->sink, "\n");
}

static void tree_put_share(const struct tree_layout *layout,
                           const struct row *row)
{
    char text[UNITS_MAX];

    tree_put_right(layout, units_percent(text, row->share, 0), SHARE_COLUMNS);
    if (!layout->bar)
        return;
    sink_puts(layout->sink, " ");
    tree_put_style(layout, STYLE_CYAN);
    text_bar(layout->sink, layout->term, row->share, layout->bar);
    tree_put_style(layout, STYLE_NONE);
}

static void tree_put_work(const struct tree_layout *layout,
                          const struct row *row)
{
    char text[UNITS_MAX];

    tree_put_right(layout, column_gmac(text, row), GMAC_COLUMNS);
    tree_put_right(layout, column_gflops(text, layout->rows, row),
                   GFLOPS_COLUMNS);
}

/* In a training: the time of each pass, by the device where there is one, and
 * the bytes that the forward pass
 * keeps for the backward pass. */
static void tree_put_passes(const struct tree_layout *layout,
                            const struct row *row)
{
    char text[UNITS_MAX] = "-";

    if (layout->rows->has_device) {
        tree_put_time(layout, row_device_ns(layout->rows, row));
        for (enum pass i = PASS_FORWARD; i <= PASS_BACKWARD; i++)
            tree_put_time(layout, row_pass_device_ns(layout->rows, row, i));
    } else {
        for (enum pass i = 0; i < N_PASSES; i++)
            tree_put_time(layout,
                          rows_each(layout->rows, row, row->pass_ns[i]));
    }
    tree_put_share(layout, row);
    if (row->work.kept_bytes > 0)
        snprintf(text, sizeof text, "%.1f", row->work.kept_bytes / 1048576);
    if (layout->has_kept)
        tree_put_right(layout, text, KEPT_COLUMNS);
}

/* "bn1   fused into conv1", over the columns that it has nothing for. */
static void tree_put_fused(const struct tree_layout *layout,
                           const struct row *row, const char *name,
                           size_t taken)
{
    size_t width = (size_t)layout->term->width - taken;
    struct str text = {0};
    size_t columns;

    if (str_append(&text, name) || row_doer(layout->run, row, &text))
        layout->sink->failed_errno = ENOMEM;
    columns = text_columns(str_text(&text));
    tree_put_style(layout, STYLE_DIM);
    text_fit(layout->sink, layout->term, str_text(&text),
             columns < width ? columns : width, ALIGN_LEFT);
    tree_put_style(layout, STYLE_NONE);
    sink_puts(layout->sink, "\n");
    str_release(&text);
}

static void tree_put_row(const struct tree_layout *layout, size_t at,
                         uint32_t first, const char *name)
{
    const struct row *row = &layout->rows->items[at];
    char text[UNITS_MAX];
    size_t taken;

    taken = tree_put_branches(layout, at, first);
    if (row_is_fused(row)) {
        tree_put_fused(layout, row, name, taken);
        return;
    }
    text_fit(layout->sink, layout->term, name, layout->name - taken,
             ALIGN_LEFT);
    if (layout->class_name) {
        tree_put_style(layout, STYLE_DIM);
        sink_puts(layout->sink, "  ");
        text_fit(layout->sink, layout->term, row->class_name,
                 layout->class_name - 2, ALIGN_LEFT);
        tree_put_style(layout, STYLE_NONE);
    }
    tree_put_time(layout, rows_each(layout->rows, row, row->total_ns));
    if (layout->rows->has_passes) {
        tree_put_passes(layout, row);
    } else {
        if (layout->has_self)
            tree_put_time(layout, rows_each(layout->rows, row, row->self_ns));
        if (layout->rows->has_device)
            tree_put_time(layout, row_device_ns(layout->rows, row));
        tree_put_share(layout, row);
        units_count(text, rows_each(layout->rows, row, row->calls));
        if (layout->has_calls)
            tree_put_right(layout, text, CALLS_COLUMNS);
    }
    if (layout->has_work)
        tree_put_work(layout, row);
    if (layout->has_bounds)
        sink_printf(layout->sink, "  %s", column_bound(row));
    sink_puts(layout->sink, "\n");
}

static void tree_put_inside(const struct tree_layout *layout)
{
    for (size_t i = 0; i < layout->rows->n; i++) {
        const struct row *row = &layout->rows->items[i];

        if (layout->choice->is_shown[i] && !row->is_outside)
            tree_put_row(layout, i, 0, row->name);
    }
}

/* What ran outside the iterations: each top row with its path, as its parents
 * may be elsewhere. */
static enum assay_status tree_put_outside(const struct tree_layout *layout,
                                          struct error *err)
{
    struct str path = {0};
    enum assay_status st = ASSAY_OK;
    uint32_t first = 0;
    bool is_first = true;

    for (size_t i = 1; !st && i < layout->rows->n; i++) {
        const struct row *row = &layout->rows->items[i];

        if (!row->is_outside || !layout->choice->is_shown[i])
            continue;
        if (is_first)
            sink_puts(layout->sink, "outside the iterations, once\n");
        is_first = false;
        if (layout->rows->items[row->parent].is_outside) {
            tree_put_row(layout, i, first, row->name);
            continue;
        }
        first = row->depth;
        str_clear(&path);
        st = run_scope_path(layout->run, row->scope, &path);
        tree_put_row(layout, i, first, str_text(&path));
    }
    if (st)
        error_nomem(err, path.n + 1, "the path of a scope");
    str_release(&path);
    return st;
}

/* "fused    9 modules ran in another's kernel; ..." */
static void tree_put_fused_count(const struct tree_layout *layout)
{
    struct line line = line_begin(layout->sink, layout->term, "fused");
    size_t n = 0;

    for (size_t i = 0; i < layout->rows->n; i++)
        n += layout->choice->is_shown[i] &&
             row_is_fused(&layout->rows->items[i]);
    line.style = STYLE_DIM;
    if (n)
        line_printf(&line,
                    "%zu %s in another's kernel; `assay run --plain` runs "
                    "%s apart",
                    n, n == 1 ? "module ran" : "modules ran",
                    n == 1 ? "it" : "them");
    line_end(&line);
}

/* "hidden   12 modules under 2 %, 3.4 % together   25 below level 3" */
static void tree_put_hidden(const struct tree_layout *layout,
                            const struct view_options *options)
{
    const struct tree_choice *choice = layout->choice;
    struct line line = line_begin(layout->sink, layout->term, "hidden");
    char together[UNITS_MAX];

    line.style = STYLE_DIM;
    if (choice->n_small > 0)
        line_printf(&line, "%zu %s under %g %%, %s together", choice->n_small,
                    choice->n_small == 1 ? "module" : "modules",
                    options->hide_below * 100,
                    units_percent(together, choice->small_share, 0));
    if (choice->n_fused > 0)
        line_printf(&line, "%zu fused into others%s", choice->n_fused,
                    layout->rows->has_passes ? ""
                                             : " (--plain runs them apart)");
    if (choice->n_deep > 0)
        line_printf(&line, "%zu %s below level %u", choice->n_deep,
                    choice->n_deep == 1 ? "module" : "modules", choice->depth);
    if (line.column)
        line_item(&line, choice->n_deep ? "(--depth, --all)" : "(--all)");
    line_end(&line);
}

static bool tree_exceeds_peak(const struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        if (row_gflops(rows, &rows->items[i]) > rows->peaks.gflops)
            return true;
    }
    return false;
}

static void tree_put_cover(const struct tree_layout *layout)
{
    struct line line = line_begin(layout->sink, layout->term, "work");
    char share[UNITS_MAX];

    if (!layout->has_work)
        return;
    line.style = STYLE_DIM;
    line_printf(&line, "MACs cover %s of the time; 1 MAC = 2 FLOP",
                units_percent(share, layout->rows->macs_cover, 0));
    if (tree_exceeds_peak(layout->rows))
        line_sentence(&line, "above the peak: Winograd multiplies less");
    line_end(&line);
}

/* What the numbers below are. */
static enum assay_status tree_put_caption(const struct tree_layout *layout,
                                          struct error *err)
{
    struct line line = line_begin(layout->sink, layout->term, "times");
    struct str text = {0};
    enum assay_status st = columns_caption(layout->rows, &text);

    line.style = STYLE_DIM;
    line_sentence(&line, str_text(&text));
    if (layout->rows->adds_up)
        line_sentence(&line, "threads add up: shares may exceed 100 %");
    line_end(&line);
    str_release(&text);
    return st ? error_nomem(err, LINE_INDENT, "a line of text") : ASSAY_OK;
}

enum assay_status tree_write(const struct run *run, const struct rows *rows,
                             const struct tree_choice *choice,
                             const struct view_options *options,
                             struct sink *sink, struct error *err)
{
    struct tree_layout layout =
        tree_layout_of(run, rows, choice, &options->term, sink);
    enum assay_status st;

    st = tree_put_caption(&layout, err);
    if (st)
        return st;
    tree_put_head(&layout);
    tree_put_inside(&layout);
    st = tree_put_outside(&layout, err);
    if (st)
        return st;
    tree_put_fused_count(&layout);
    tree_put_hidden(&layout, options);
    tree_put_cover(&layout);
    return ASSAY_OK;
}

void tree_write_rows(const struct run *run, const struct rows *rows, size_t top,
                     const struct tree_choice *choice,
                     const struct view_options *options, struct sink *sink)
{
    struct tree_layout layout =
        tree_layout_of(run, rows, choice, &options->term, sink);

    tree_put_head(&layout);
    for (size_t i = top; i < rows->n; i++) {
        if (choice->is_shown[i])
            tree_put_row(&layout, i, rows->items[top].depth,
                         rows->items[i].name);
    }
}

struct view_options view_defaults(struct term term)
{
    return (struct view_options){
        .term = term, .depth = -1, .sort = SORT_SELF, .hide_below = 0.02};
}

enum assay_status view_tree(const struct run *run,
                            const struct view_options *options,
                            struct sink *sink, struct error *err)
{
    struct rows rows = {0};
    struct tree_choice choice = {0};
    enum assay_status st = training_rows_build(run, &rows, err);

    if (!st)
        st = tree_choose(&rows, options, 0, &choice, err);
    if (!st)
        st = tree_write(run, &rows, &choice, options, sink, err);
    tree_release(&choice);
    rows_release(&rows);
    return st ? st : sink_status(sink, err);
}
