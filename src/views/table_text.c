/* views/table_text.c - see tensorboard_internal.h. */
#include "views/tensorboard_internal.h"

#include "views/columns_internal.h"
#include "views/levels_internal.h"
#include "views/markdown.h"

enum { most_rows = 25 };

/* As many as fit next to a path in TensorBoard's text tab. */
static const enum column table_text_columns[] = {COLUMN_TOTAL, COLUMN_SELF,
                                                 COLUMN_SHARE, COLUMN_CALLS};
enum { n_columns = sizeof table_text_columns / sizeof *table_text_columns };

static void table_text_put_head(struct sink *sink, const struct rows *rows,
                                const char *title)
{
    char text[UNITS_MAX];

    sink_printf(sink, "**%s**\n\n| module |", title);
    for (size_t i = 0; i < n_columns; i++)
        sink_printf(sink, " %s |",
                    column_title(text, table_text_columns[i], rows));
    sink_puts(sink, "\n|:--|");
    for (size_t i = 0; i < n_columns; i++)
        sink_puts(sink, "--:|");
    sink_puts(sink, "\n");
}

static enum assay_status table_text_put_row(struct sink *sink,
                                            const struct rows *rows,
                                            const struct ranked *item,
                                            const char *name)
{
    struct term term = term_plain(120);
    char text[UNITS_MAX];
    enum assay_status st;

    sink_puts(sink, "| ");
    st = markdown_text(sink, &term, name);
    for (size_t i = 0; !st && i < n_columns; i++) {
        sink_puts(sink, " | ");
        st = markdown_text(
            sink, &term, column_text(text, table_text_columns[i], rows, item));
    }
    sink_puts(sink, " |\n");
    return st;
}

/* Markdown has no indentation in cells: modules have their path. */
static enum assay_status table_text_put_levels(struct sink *sink,
                                               const struct levels *levels)
{
    enum assay_status st = ASSAY_OK;
    struct str name = {0};

    table_text_put_head(sink, &levels->rows, "Stages, and two levels below");
    for (size_t i = 0; !st && i < levels->n; i++) {
        const struct level *level = &levels->items[i];

        str_clear(&name);
        st = str_printf(&name, "%s%s%s", level->stage, level->path.n ? "." : "",
                        str_text(&level->path));
        if (!st)
            st = table_text_put_row(sink, &levels->rows, &level->item,
                                    str_text(&name));
    }
    sink_puts(sink, "\n");
    str_release(&name);
    return st;
}

static enum assay_status table_text_put_ranking(struct sink *sink,
                                                const struct ranking *ranking)
{
    enum assay_status st = ASSAY_OK;
    struct str caption = {0};

    table_text_put_head(sink, &ranking->rows, "Most time in itself");
    for (size_t i = 0; !st && i < ranking->n; i++)
        st = table_text_put_row(sink, &ranking->rows, &ranking->items[i],
                                ranked_title(&ranking->items[i]));
    if (!st)
        st = columns_caption(&ranking->rows, &caption);
    sink_printf(sink, "\nTimes: %s.%s\n", str_text(&caption),
                ranking->rows.adds_up
                    ? " Threads add up: shares may exceed 100 %."
                    : "");
    str_release(&caption);
    return st;
}

enum assay_status table_text(const struct run *run, struct sink *sink,
                             struct error *err)
{
    struct view_options options = view_defaults(term_plain(120));
    struct ranking ranking = {0};
    struct levels levels = {0};
    enum assay_status st = levels_build(run, &levels, err);

    if (!st)
        st = ranking_build(run, &options, most_rows, false, &ranking, err);
    if (!st && ((levels.n && table_text_put_levels(sink, &levels)) ||
                table_text_put_ranking(sink, &ranking)))
        st = error_nomem(err, UNITS_MAX, "a row of a table");
    levels_release(&levels);
    ranking_release(&ranking);
    return st;
}
