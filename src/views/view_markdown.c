/* views/view_markdown.c - the table of a run for a page or a pull request. */
#include "views/columns_internal.h"
#include "views/markdown.h"

enum { DEFAULT_ROWS = 20 };

struct markdown_table {
    struct ranking ranking;
    enum view_group group;
    bool has[N_COLUMNS];
};

static void markdown_put_head(struct sink *sink,
                              const struct markdown_table *table)
{
    char title[UNITS_MAX];

    sink_printf(sink, "| %s |", column_subject(table->group));
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (table->has[i])
            sink_printf(sink, " %s |",
                        column_title(title, i, &table->ranking.rows));
    }
    sink_puts(sink, "\n|:--|");
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (table->has[i])
            sink_puts(sink, i == COLUMN_CLASS ? ":--|" : "--:|");
    }
    sink_puts(sink, "\n");
}

static enum assay_status markdown_put_item(struct sink *sink,
                                           const struct markdown_table *table,
                                           const struct ranked *item,
                                           const struct term *term)
{
    enum assay_status st;

    sink_puts(sink, "| ");
    st = markdown_text(sink, term, ranked_title(item));
    for (enum column i = 0; !st && i < N_COLUMNS; i++) {
        char text[UNITS_MAX];

        if (!table->has[i])
            continue;
        sink_puts(sink, " | ");
        st = markdown_text(sink, term,
                           column_text(text, i, &table->ranking.rows, item));
    }
    sink_puts(sink, " |\n");
    return st;
}

static enum assay_status markdown_put_table(const struct markdown_table *table,
                                            const struct view_options *options,
                                            struct sink *sink)
{
    const struct ranking *ranking = &table->ranking;
    struct str caption = {0};
    enum assay_status st;

    markdown_put_head(sink, table);
    st = columns_caption(&ranking->rows, &caption);
    for (size_t i = 0; !st && i < ranking->n; i++)
        st = markdown_put_item(sink, table, &ranking->items[i], &options->term);
    sink_printf(sink, "\nTimes: %s.%s", str_text(&caption),
                ranking->rows.adds_up
                    ? " Threads add up: shares may exceed 100 %."
                    : "");
    if (ranking->n_hidden > 0)
        sink_printf(sink, " %zu more rows are not listed.", ranking->n_hidden);
    sink_puts(sink, "\n");
    str_release(&caption);
    return st;
}

enum assay_status view_markdown(const struct run *run,
                                const struct view_options *options,
                                struct sink *sink, struct error *err)
{
    struct markdown_table table = {.group = options->group};
    enum assay_status st =
        ranking_build(run, options, DEFAULT_ROWS, true, &table.ranking, err);

    for (enum column i = 0; !st && i < N_COLUMNS; i++)
        table.has[i] = column_is_known(i, &table.ranking, options->group);
    if (!st && markdown_put_table(&table, options, sink))
        st = error_nomem(err, UNITS_MAX, "a row of a table");
    ranking_release(&table.ranking);
    return st ? st : sink_status(sink, err);
}
