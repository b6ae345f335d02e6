/* views/table_picture.c - see table_picture_internal.h. */
#include "views/table_picture_internal.h"

#include "picture/sheet.h"
#include "views/columns_internal.h"

#include <math.h>

enum { most_rows = 25, pixels = 2 /* a point, of a PNG sheet */ };

static const double margin = 16, line = 17, name_width = 250, cell_width = 62,
                    text_size = 9;
static const struct ink text_ink = {0.13, 0.15, 0.18, 1};
static const struct ink head_ink = {0.42, 0.45, 0.50, 1};
static const struct ink band_ink = {0.955, 0.96, 0.97, 1};
static const struct ink share_ink = {0.40, 0.69, 0.87, 0.45};

struct table {
    struct rows rows;
    struct ranking ranking;
    enum column columns[N_COLUMNS];
    size_t n_columns;
};

static enum assay_status table_build(struct table *table, const struct run *run,
                                     struct error *err)
{
    struct view_options options = view_defaults(term_plain(120));
    enum assay_status st = rows_build(run, &table->rows, err);

    if (!st)
        st = ranking_build(run, &table->rows, &options, most_rows, false,
                           &table->ranking, err);
    for (enum column i = 0; !st && i < N_COLUMNS; i++) {
        if (column_is_known(i, &table->rows, &table->ranking))
            table->columns[table->n_columns++] = i;
    }
    return st;
}

static void table_release(struct table *table)
{
    ranking_release(&table->ranking);
    rows_release(&table->rows);
}

/* The right edge of a column; classes are read from their left. */
static struct spot cell_spot(size_t column, double y)
{
    return (struct spot){
        margin + name_width + cell_width * (double)(column + 1), y};
}

static void draw_cell(struct sheet *sheet, const struct table *table,
                      size_t column, double y, struct ink ink, const char *text)
{
    struct spot right = cell_spot(column, y + 12);

    if (table->columns[column] == COLUMN_CLASS)
        sheet_text_in(
            sheet, (struct area){right.x - cell_width, y, cell_width - 2, line},
            text_size, ink, text);
    else
        sheet_text(sheet, right, SHEET_RIGHT, text_size, ink, text);
}

static void table_picture_draw_head(struct sheet *sheet,
                                    const struct table *table)
{
    char title[UNITS_MAX];

    sheet_text(sheet, (struct spot){margin, margin + 12}, SHEET_LEFT, text_size,
               head_ink, "module");
    for (size_t i = 0; i < table->n_columns; i++)
        draw_cell(
            sheet, table, i, margin, head_ink,
            column_title(title, table->columns[i], rows_unit(&table->rows)));
}

static void table_picture_draw_row(struct sheet *sheet,
                                   const struct table *table, size_t row)
{
    const struct ranked *item = &table->ranking.items[row];
    double y = margin + line * (double)(row + 1);
    struct area band = {margin - 4, y, sheet_width(sheet) - 2 * margin + 8,
                        line};
    char text[UNITS_MAX];

    if (row % 2 == 0)
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
        draw_cell(sheet, table, i, y, text_ink,
                  column_text(text, table->columns[i], &table->rows, item,
                              rows_unit(&table->rows)));
}

enum assay_status table_picture(const struct run *run, struct sink *sink,
                                int *width, int *height, struct error *err)
{
    struct table table = {0};
    struct sheet *sheet = NULL;
    double across, down;
    enum assay_status st = table_build(&table, run, err);

    across = 2 * margin + name_width + cell_width * (double)table.n_columns;
    down = 2 * margin + line * (double)(table.ranking.n + 1);
    if (!st)
        st = sheet_new(SHEET_PNG, across, down, &sheet, err);
    if (!st) {
        table_picture_draw_head(sheet, &table);
        for (size_t i = 0; i < table.ranking.n; i++)
            table_picture_draw_row(sheet, &table, i);
        st = sheet_write(sheet, sink, err);
    }
    *width = (int)ceil(across * pixels);
    *height = (int)ceil(down * pixels);
    sheet_free(sheet);
    table_release(&table);
    return st;
}
