/* views/columns.c - see columns_internal.h. */
#include "views/columns_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const struct {
    const char *title;
    size_t width;
    size_t rank;
} columns[] = {
#define VIEW_COLUMN_ROW(name, title, width, rank) {title, width, rank},
    VIEW_COLUMNS(VIEW_COLUMN_ROW)
#undef VIEW_COLUMN_ROW
};

size_t column_width(enum column column)
{
    return columns[column].width;
}

enum column column_ranked(size_t rank)
{
    enum column column = 0;

    while (columns[column].rank != rank)
        column++;
    return column;
}

const char *column_title(char buffer[UNITS_MAX], enum column column,
                         struct time_unit unit)
{
    bool has_unit = column == COLUMN_TOTAL || column == COLUMN_SELF ||
                    column == COLUMN_SAVED;

    snprintf(buffer, UNITS_MAX, "%s%s%s", columns[column].title,
             has_unit ? " " : "", has_unit ? unit.name : "");
    return buffer;
}

static const char *time_text(char buffer[UNITS_MAX], double ns,
                             struct time_unit unit)
{
    /* units_ms() shows a millionth of what it is given. */
    return units_ms(buffer, ns / unit.ns * 1e6);
}

/* Three digits of less would not fit the column. */
static const char *giga_text(char buffer[UNITS_MAX], double value)
{
    if (value > 0 && value < 0.001)
        snprintf(buffer, UNITS_MAX, "<0.001");
    else
        units_number(buffer, value > 0 ? value : NAN);
    return buffer;
}

const char *column_gmac(char buffer[UNITS_MAX], const struct row *row)
{
    return giga_text(buffer, row->work.macs / 1e9);
}

const char *column_gflops(char buffer[UNITS_MAX], const struct rows *rows,
                          const struct row *row)
{
    return giga_text(buffer, row_gflops(rows, row));
}

const char *column_bound(const struct row *row)
{
    return bound_kind_text(row->bound.kind);
}

const char *column_text(char buffer[UNITS_MAX], enum column column,
                        const struct rows *rows, const struct ranked *item,
                        struct time_unit unit)
{
    const struct row *row = &item->row;

    switch (column) {
    case COLUMN_CLASS:
        return row->class_name;
    case COLUMN_CALLS:
        return units_count(buffer, rows_each(rows, row, row->calls));
    case COLUMN_TOTAL:
        return time_text(buffer, rows_each(rows, row, row->total_ns), unit);
    case COLUMN_SELF:
        return time_text(buffer, rows_each(rows, row, row->self_ns), unit);
    case COLUMN_SHARE:
        return units_percent(buffer, row->share, 0);
    case COLUMN_CALL:
        return time_text(buffer, row_call_ns(row), unit);
    case COLUMN_MEDIAN:
        return time_text(buffer, item->stats.median_ns, unit);
    case COLUMN_P95:
        return time_text(buffer, item->stats.p95_ns, unit);
    case COLUMN_MIN:
        return time_text(buffer, item->stats.min_ns, unit);
    case COLUMN_MAX:
        return time_text(buffer, item->stats.max_ns, unit);
    case COLUMN_GMAC:
        return column_gmac(buffer, row);
    case COLUMN_GFLOPS:
        return column_gflops(buffer, rows, row);
    case COLUMN_GBS:
        return giga_text(buffer, row->bound.gbs);
    case COLUMN_BOUND:
        return column_bound(row);
    case COLUMN_REACHED:
        return units_percent(buffer, row->bound.share, 0);
    case COLUMN_SAVED:
        return time_text(buffer, row->bound.saved_ns, unit);
    case COLUMN_PEAK:
        return units_bytes(buffer, row->peak_bytes == RUN_UNKNOWN
                                       ? NAN
                                       : (double)row->peak_bytes);
    case N_COLUMNS:
        break;
    }
    return "";
}

bool column_is_known(enum column column, const struct rows *rows,
                     const struct ranking *ranking)
{
    if (column == COLUMN_CLASS)
        return rows->has_classes;
    if (column == COLUMN_GMAC || column == COLUMN_GFLOPS)
        return rows->has_macs;
    if (column >= COLUMN_GBS && column <= COLUMN_SAVED)
        return rows->has_bounds;
    if (column != COLUMN_PEAK)
        return true;
    for (size_t i = 0; i < ranking->n; i++) {
        if (ranking->items[i].row.peak_bytes != RUN_UNKNOWN)
            return true;
    }
    return false;
}

enum assay_status columns_caption(const struct rows *rows, struct str *text)
{
    const char *unit = rows_unit(rows).name;

    if (rows->n_iterations == 0)
        return str_printf(text, "in %s, over every call", unit);
    if (rows->n_iterations == 1)
        return str_printf(text, "in %s, of the one iteration", unit);
    return str_printf(text, "in %s, of an iteration, mean of %" PRIu64, unit,
                      rows->n_iterations);
}
