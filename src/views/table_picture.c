/* views/table_picture.c - see tensorboard_internal.h. */
#include "views/tensorboard_internal.h"

#include "picture/sheet.h"
#include "views/columns_internal.h"
#include "views/levels_internal.h"

#include <math.h>

enum { most_rows = 25, pixels = 2 /* per point of a PNG sheet */ };

static const double margin = 16, line = 17, name_width = 250, cell_width = 62,
                    text_size = 9;
static const struct ink text_ink = {0.13, 0.15, 0.18, 1};
static const struct ink head_ink = {0.42, 0.45, 0.50, 1};
static const struct ink band_ink = {0.955, 0.96, 0.97, 1};
static const struct ink share_ink = {0.40, 0.69, 0.87, 0.45};

/* Two parts, one below the other, with the same columns. */
struct picture_table {
    struct levels levels;
    struct ranking ranking;
    enum column columns[N_COLUMNS];
    size_t n_columns;
};

static enum assay_status table_build(struct picture_table *table,
                                     const struct run *run, struct error *err)
{
    struct view_options options = view_defaults(term_plain(120));
    enum assay_status st = levels_build(run, &table->levels, err);

    if (!st)
        st = ranking_build(run, &options, most_rows, false, &table->ranking,
                           err);
    for (enum column i = 0; !st && i < N_COLUMNS; i++) {
        if (column_is_known(i, &table->ranking, GROUP_SCOPE))
            table->columns[table->n_columns++] = i;
    }
    return st;
}

/* The right edge of a column; classes begin at its left. */
static struct spot table_picture_cell_spot(size_t column, double y)
{
    return (struct spot){
        margin + name_width + cell_width * (double)(column + 1), y};
}

static void table_picture_draw_cell(struct sheet *sheet,
                                    const struct picture_table *table,
                                    size_t column, double y, struct ink ink,
                                    const char *text)
{
    struct spot right = table_picture_cell_spot(column, y + 12);

    if (table->columns[column] == COLUMN_CLASS)
        sheet_text_in(
            sheet, (struct area){right.x - cell_width, y, cell_width - 2, line},
            text_size, ink, text);
    else
        sheet_text(sheet, right, SHEET_RIGHT, text_size, ink, text);
}

/* The lines of a part: its heading and its rows, and an empty one between. */
static size_t table_picture_lines(const struct picture_table *table)
{
    return (table->levels.n ? table->levels.n + 2 : 0) + table->ranking.n + 1;
}

static void table_picture_draw_head(struct sheet *sheet,
                                    const struct picture_table *table,
                                    size_t at, const char *name)
{
    double y = margin + line * (double)at;
    char title[UNITS_MAX];

    sheet_text(sheet, (struct spot){margin, y + 12}, SHEET_LEFT, text_size,
               head_ink, name);
    for (size_t i = 0; i < table->n_columns; i++)
        table_picture_draw_cell(
            sheet, table, i, y, head_ink,
            column_title(title, table->columns[i], &table->ranking.rows));
}

static void table_picture_draw_row(struct sheet *sheet,
                                   const struct picture_table *table,
                                   const struct ranked *item, size_t at)
{
    double y = margin + line * (double)at;
    struct area band = {margin - 4, y, sheet_width(sheet) - 2 * margin + 8,
                        line};
    char text[UNITS_MAX];

    if (at % 2)
        sheet_rectangle(sheet, band, band_ink);
    if (item->row.share > 0)
        sheet_rectangle(sheet,
                        (struct area){band.x, y + 2,
                                      name_width * fmin(item->row.share, 1),
                                      line - 4},
                        share_ink);
    sheet_text_in(sheet, (struct area){margin, y, name_width - 6, line},
                  text_size, text_ink, ranked_title(item));
    for (size_t i = 0; i < table->n_columns; i++)
        table_picture_draw_cell(
            sheet, table, i, y, text_ink,
            column_text(text, table->columns[i], &table->ranking.rows, item));
}

static void table_picture_draw(struct sheet *sheet,
                               const struct picture_table *table)
{
    size_t at = 0;

    if (table->levels.n) {
        table_picture_draw_head(sheet, table, at++,
                                "stages, and two levels below");
        for (size_t i = 0; i < table->levels.n; i++)
            table_picture_draw_row(sheet, table, &table->levels.items[i].item,
                                   at++);
        at++;
    }
    table_picture_draw_head(sheet, table, at++, "most time in itself");
    for (size_t i = 0; i < table->ranking.n; i++)
        table_picture_draw_row(sheet, table, &table->ranking.items[i], at++);
}

enum assay_status table_picture(const struct run *run, struct sink *sink,
                                int *width, int *height, struct error *err)
{
    struct picture_table table = {0};
    struct sheet *sheet = NULL;
    double across, down;
    enum assay_status st = table_build(&table, run, err);

    across = 2 * margin + name_width + cell_width * (double)table.n_columns;
    down = 2 * margin + line * (double)table_picture_lines(&table);
    if (!st)
        st = sheet_new(SHEET_PNG, across, down, &sheet, err);
    if (!st) {
        table_picture_draw(sheet, &table);
        st = sheet_write(sheet, sink, err);
    }
    *width = (int)ceil(across * pixels);
    *height = (int)ceil(down * pixels);
    sheet_free(sheet);
    levels_release(&table.levels);
    ranking_release(&table.ranking);
    return st;
}
