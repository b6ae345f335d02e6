/* views/view_table.c - the scopes of a run, the most expensive first. */
#include "views/columns_internal.h"
#include "views/line.h"

enum { DEFAULT_ROWS = 20, LEAST_NAME = 12 };

struct table_layout {
    const struct ranking *ranking;
    const struct term *term;
    struct sink *sink;
    size_t name; /* columns on the screen */
    bool has[N_COLUMNS];
};

static size_t table_longest_label(const struct ranking *ranking)
{
    size_t longest = LEAST_NAME;

    for (size_t i = 0; i < ranking->n; i++) {
        size_t columns = text_columns(ranked_title(&ranking->items[i]));

        longest = columns > longest ? columns : longest;
    }
    return longest;
}

static const enum column table_sums[] = {
    COLUMN_DEVICE, COLUMN_GMAC, COLUMN_GFLOPS, COLUMN_PARAMETERS, COLUMN_MOVED};
enum { N_SUMS = sizeof table_sums / sizeof table_sums[0] };

/* The column to add next, of N_COLUMNS + N_SUMS. Joined rows are read for their
 * sums, which come right after the columns that are always there. */
static enum column table_column(size_t at, enum view_group group)
{
    if (at < COLUMNS_ALWAYS)
        return column_ranked(at);
    if (at >= COLUMNS_ALWAYS + N_SUMS)
        return column_ranked(at - N_SUMS);
    return group == GROUP_SCOPE ? column_ranked(0)
                                : table_sums[at - COLUMNS_ALWAYS];
}

/* Adds columns as long as the names keep what they need, or two fifths of the
 * screen. */
static void table_choose_columns(struct table_layout *table,
                                 const struct view_options *options)
{
    size_t width = (size_t)table->term->width, taken = 0;
    size_t longest = table_longest_label(table->ranking);
    size_t wanted = longest < width * 2 / 5 ? longest : width * 2 / 5;

    if (options->sort == SORT_BYTES) {
        table->has[COLUMN_PEAK] = true;
        taken += column_width(COLUMN_PEAK);
    }
    for (size_t at = 0; at < N_COLUMNS + N_SUMS; at++) {
        enum column column = table_column(at, options->group);
        size_t more = column_width(column);

        if (table->has[column] ||
            !column_is_known(column, table->ranking, options->group))
            continue;
        if (at >= COLUMNS_ALWAYS && taken + more + wanted > width)
            continue;
        table->has[column] = true;
        taken += more;
    }
    table->name = width > taken + LEAST_NAME ? width - taken : LEAST_NAME;
    if (table->name > longest)
        table->name = longest;
}

static struct table_layout table_of(const struct ranking *ranking,
                                    const struct view_options *options,
                                    struct sink *sink)
{
    struct table_layout table = {
        .ranking = ranking, .term = &options->term, .sink = sink};

    table_choose_columns(&table, options);
    return table;
}

/* Words on the left, two columns after the names; numbers on the right. */
static void table_put_cell(const struct table_layout *table, enum column column,
                           const char *text)
{
    size_t width = column_width(column);

    if (column == COLUMN_CLASS) {
        sink_puts(table->sink, "  ");
        text_fit(table->sink, table->term, text, width - 2, ALIGN_LEFT);
    } else {
        text_fit(table->sink, table->term, text, width, ALIGN_RIGHT);
    }
}

static void table_put_head(const struct table_layout *table,
                           enum view_group group)
{
    char title[UNITS_MAX];

    sink_puts(table->sink, term_style(table->term, STYLE_BOLD));
    text_fit(table->sink, table->term, column_subject(group), table->name,
             ALIGN_LEFT);
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (table->has[i])
            table_put_cell(table, i,
                           column_title(title, i, &table->ranking->rows));
    }
    sink_puts(table->sink, term_style(table->term, STYLE_NONE));
    sink_puts(table->sink, "\n");
}

static void table_put_item(const struct table_layout *table,
                           const struct ranked *item)
{
    char text[UNITS_MAX];

    text_fit(table->sink, table->term, ranked_title(item), table->name,
             ALIGN_LEFT);
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (table->has[i])
            table_put_cell(table, i,
                           column_text(text, i, &table->ranking->rows, item));
    }
    sink_puts(table->sink, "\n");
}

static enum assay_status table_put_caption(const struct table_layout *table,
                                           struct error *err)
{
    struct line line = line_begin(table->sink, table->term, "times");
    struct str text = {0};
    enum assay_status st = columns_caption(&table->ranking->rows, &text);

    line.style = STYLE_DIM;
    line_sentence(&line, str_text(&text));
    if (table->has[COLUMN_CALL])
        line_item(&line, "per call: mean");
    if (table->has[COLUMN_SAVED])
        line_item(&line, "saved: at the roofline");
    if (table->has[COLUMN_REACHED])
        line_item(&line, "reached: of the roofline");
    if (table->ranking->rows.adds_up)
        line_sentence(&line, "threads add up: shares may exceed 100 %");
    line_end(&line);
    str_release(&text);
    return st ? error_nomem(err, LINE_INDENT, "a line of text") : ASSAY_OK;
}

static void table_put_more(const struct table_layout *table)
{
    struct line line = line_begin(table->sink, table->term, "hidden");

    line.style = STYLE_DIM;
    if (table->ranking->n_hidden > 0)
        line_printf(&line, "%zu more (--limit, --all)",
                    table->ranking->n_hidden);
    line_end(&line);
}

enum assay_status view_table(const struct run *run,
                             const struct view_options *options,
                             struct sink *sink, struct error *err)
{
    struct ranking ranking = {0};
    struct table_layout table;
    enum assay_status st =
        ranking_build(run, options, DEFAULT_ROWS, true, &ranking, err);

    if (st)
        goto done;
    table = table_of(&ranking, options, sink);
    st = table_put_caption(&table, err);
    if (st)
        goto done;
    table_put_head(&table, options->group);
    for (size_t i = 0; i < ranking.n; i++) {
        if (ranking.items[i].row.is_outside &&
            (i == 0 || !ranking.items[i - 1].row.is_outside))
            sink_puts(sink, "outside the iterations, once\n");
        table_put_item(&table, &ranking.items[i]);
    }
    table_put_more(&table);
    st = sink_status(sink, err);
done:
    ranking_release(&ranking);
    return st;
}
