/* views/view_markdown.c - the table of a run for a page or a pull request. */
#include "views/columns_internal.h"
#include "views/markdown.h"

enum { DEFAULT_ROWS = 20 };

static void view_markdown_put_head(struct sink *sink, const struct rows *rows,
                                   const struct ranking *ranking)
{
    char title[UNITS_MAX];

    sink_puts(sink, "| module |");
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (column_is_known(i, rows, ranking))
            sink_printf(sink, " %s |", column_title(title, i, rows_unit(rows)));
    }
    sink_puts(sink, "\n|:--|");
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (column_is_known(i, rows, ranking))
            sink_puts(sink, i == COLUMN_CLASS ? ":--|" : "--:|");
    }
    sink_puts(sink, "\n");
}

static enum assay_status view_markdown_put_item(struct sink *sink,
                                                const struct rows *rows,
                                                const struct ranking *ranking,
                                                const struct ranked *item,
                                                const struct term *term)
{
    enum assay_status st;

    sink_puts(sink, "| ");
    st = markdown_text(sink, term, ranked_title(item));
    for (enum column i = 0; !st && i < N_COLUMNS; i++) {
        char text[UNITS_MAX];

        if (!column_is_known(i, rows, ranking))
            continue;
        sink_puts(sink, " | ");
        st = markdown_text(sink, term,
                           column_text(text, i, rows, item, rows_unit(rows)));
    }
    sink_puts(sink, " |\n");
    return st;
}

static enum assay_status
view_markdown_put_table(const struct rows *rows, const struct ranking *ranking,
                        const struct view_options *options, struct sink *sink)
{
    struct str caption = {0};
    enum assay_status st;

    view_markdown_put_head(sink, rows, ranking);
    st = columns_caption(rows, &caption);
    for (size_t i = 0; !st && i < ranking->n; i++)
        st = view_markdown_put_item(sink, rows, ranking, &ranking->items[i],
                                    &options->term);
    sink_printf(sink, "\nTimes: %s.%s", str_text(&caption),
                rows->adds_up ? " Threads add up: shares may exceed 100 %."
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
    struct rows rows = {0};
    struct ranking ranking = {0};
    enum assay_status st = rows_build(run, &rows, err);

    if (!st)
        st = ranking_build(run, &rows, options, DEFAULT_ROWS, true, &ranking,
                           err);
    if (!st && view_markdown_put_table(&rows, &ranking, options, sink))
        st = error_nomem(err, UNITS_MAX, "a row of a table");
    ranking_release(&ranking);
    rows_release(&rows);
    return st ? st : sink_status(sink, err);
}
