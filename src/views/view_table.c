/* views/view_table.c - the scopes of a run, the costliest first. */
#include "views/columns.h"
#include "views/line.h"

enum { DEFAULT_ROWS = 20, CLASS_COLUMNS = 18, CLASS_SCREEN = 96 };

struct table {
    const struct rows *rows;
    const struct ranking *ranking;
    const struct term *term;
    struct sink *sink;
    struct time_unit unit;
    bool has_bytes;
    size_t name, class_name; /* columns */
};

static bool has_column(const struct table *table, enum column column)
{
    if (column == COLUMN_PEAK && !table->has_bytes)
        return false;
    return column_screen(column) <= table->term->width;
}

static struct table table_of(const struct rows *rows,
                             const struct ranking *ranking,
                             const struct view_options *options,
                             struct sink *sink)
{
    struct table table = {.rows = rows,
                          .ranking = ranking,
                          .term = &options->term,
                          .sink = sink,
                          .unit = rows_unit(rows),
                          .has_bytes = ranking_has_bytes(ranking)};
    size_t width = (size_t)options->term.width, taken = 0, longest = 12;

    if (rows->has_classes && options->term.width >= CLASS_SCREEN &&
        options->group != GROUP_CLASS)
        table.class_name = CLASS_COLUMNS;
    for (enum column i = 0; i < N_COLUMNS; i++)
        taken += has_column(&table, i) ? column_width(i) : 0;
    taken += table.class_name;
    for (size_t i = 0; i < ranking->n; i++) {
        size_t columns = text_columns(str_text(&ranking->items[i].label));

        longest = columns > longest ? columns : longest;
    }
    table.name = width > taken + 12 ? width - taken : 12;
    if (table.name > longest)
        table.name = longest;
    return table;
}

static void put_head(const struct table *table, enum view_group group)
{
    char title[UNITS_MAX];
    const char *name = group == GROUP_SCOPE  ? "module"
                       : group == GROUP_NAME ? "name"
                                             : "class";

    sink_puts(table->sink, term_style(table->term, STYLE_BOLD));
    text_fit(table->sink, table->term, name, table->name, ALIGN_LEFT);
    text_fit(table->sink, table->term, "  class", table->class_name,
             ALIGN_LEFT);
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (has_column(table, i))
            text_fit(table->sink, table->term,
                     column_title(title, i, table->unit), column_width(i),
                     ALIGN_RIGHT);
    }
    sink_puts(table->sink, term_style(table->term, STYLE_NONE));
    sink_puts(table->sink, "\n");
}

static void put_item(const struct table *table, const struct ranked *item)
{
    const char *label = str_text(&item->label);
    char text[UNITS_MAX];

    text_fit(table->sink, table->term, label[0] ? label : "-", table->name,
             ALIGN_LEFT);
    if (table->class_name) {
        sink_puts(table->sink, "  ");
        text_fit(table->sink, table->term, item->row.class_name,
                 table->class_name - 2, ALIGN_LEFT);
    }
    for (enum column i = 0; i < N_COLUMNS; i++) {
        if (has_column(table, i))
            text_fit(table->sink, table->term,
                     column_text(text, i, table->rows, item, table->unit),
                     column_width(i), ALIGN_RIGHT);
    }
    sink_puts(table->sink, "\n");
}

static enum assay_status put_caption(const struct table *table,
                                     struct error *err)
{
    struct line line = line_begin(table->sink, table->term, "times");
    struct str text = {0};

    line.style = STYLE_DIM;
    if (columns_caption(table->rows, &text))
        return error_nomem(err, 0, "the caption of a table");
    line_sentence(&line, str_text(&text));
    str_release(&text);
    if (table->rows->adds_up)
        line_sentence(&line, "threads add up: shares may exceed 100 %");
    line_end(&line);
    return ASSAY_OK;
}

static void put_more(const struct table *table)
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
    struct rows rows = {0};
    struct ranking ranking = {0};
    struct table table;
    enum assay_status st = rows_build(run, &rows, err);

    if (!st)
        st = ranking_build(run, &rows, options, DEFAULT_ROWS, &ranking, err);
    if (st)
        goto done;
    table = table_of(&rows, &ranking, options, sink);
    st = put_caption(&table, err);
    if (st)
        goto done;
    put_head(&table, options->group);
    for (size_t i = 0; i < ranking.n; i++)
        put_item(&table, &ranking.items[i]);
    put_more(&table);
    st = sink_status(sink, err);
done:
    ranking_release(&ranking);
    rows_release(&rows);
    return st;
}
