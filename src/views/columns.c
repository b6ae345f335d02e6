/* views/columns.c - see columns_internal.h. */
#include "views/columns_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
                         const struct rows *rows)
{
    bool has_unit = column == COLUMN_TOTAL || column == COLUMN_SELF ||
                    column == COLUMN_DEVICE || column == COLUMN_SAVED;

    if (column == COLUMN_GFLOPS)
        return rows_rate(rows).name;
    snprintf(buffer, UNITS_MAX, "%s%s%s", columns[column].title,
             has_unit ? " " : "", has_unit ? rows_unit(rows).name : "");
    return buffer;
}

static const char *columns_time_text(char buffer[UNITS_MAX], double ns,
                                     struct time_unit unit)
{
    /* units_ms() shows a millionth of what it is given. */
    return units_ms(buffer, ns / unit.ns * 1e6);
}

/* Smaller numbers would not fit the column with three digits. */
static const char *columns_giga_text(char buffer[UNITS_MAX], double value)
{
    if (value > 0 && value < 0.001)
        snprintf(buffer, UNITS_MAX, "<0.001");
    else
        units_number(buffer, value > 0 ? value : NAN);
    return buffer;
}

const char *column_gmac(char buffer[UNITS_MAX], const struct row *row)
{
    return columns_giga_text(buffer, row->work.macs / 1e9);
}

const char *column_gflops(char buffer[UNITS_MAX], const struct rows *rows,
                          const struct row *row)
{
    return columns_giga_text(buffer,
                             row_gflops(rows, row) / rows_rate(rows).giga);
}

static double columns_positive(double value)
{
    return value > 0 ? value : NAN;
}

const char *column_bound(const struct row *row)
{
    return bound_kind_text(row->bound.kind);
}

const char *column_text(char buffer[UNITS_MAX], enum column column,
                        const struct rows *rows, const struct ranked *item)
{
    struct time_unit unit = rows_unit(rows);
    const struct row *row = &item->row;

    switch (column) {
    case COLUMN_CLASS:
        return row->class_name;
    case COLUMN_CALLS:
        return units_count(buffer, rows_each(rows, row, row->calls));
    case COLUMN_TOTAL:
        return columns_time_text(buffer, rows_each(rows, row, row->total_ns),
                                 unit);
    case COLUMN_SELF:
        return columns_time_text(buffer, rows_each(rows, row, row->self_ns),
                                 unit);
    case COLUMN_DEVICE:
        return columns_time_text(buffer, row_device_ns(rows, row), unit);
    case COLUMN_SHARE:
        return units_percent(buffer, row->share, 0);
    case COLUMN_CALL:
        return columns_time_text(buffer, row_call_ns(row), unit);
    case COLUMN_MEDIAN:
        return columns_time_text(buffer, item->stats.median_ns, unit);
    case COLUMN_P95:
        return columns_time_text(buffer, item->stats.p95_ns, unit);
    case COLUMN_MIN:
        return columns_time_text(buffer, item->stats.min_ns, unit);
    case COLUMN_MAX:
        return columns_time_text(buffer, item->stats.max_ns, unit);
    case COLUMN_GMAC:
        return column_gmac(buffer, row);
    case COLUMN_GFLOPS:
        return column_gflops(buffer, rows, row);
    case COLUMN_GBS:
        return columns_giga_text(buffer, row->bound.gbs);
    case COLUMN_BOUND:
        return column_bound(row);
    case COLUMN_REACHED:
        return units_percent(buffer, row->bound.share, 0);
    case COLUMN_SAVED:
        return columns_time_text(buffer, row->bound.saved_ns, unit);
    case COLUMN_PEAK:
        return units_bytes(buffer, row->peak_bytes == RUN_UNKNOWN
                                       ? NAN
                                       : (double)row->peak_bytes);
    case COLUMN_PARAMETERS:
        return units_count(buffer, columns_positive(row->work.parameters));
    case COLUMN_MOVED:
        return units_bytes(buffer, columns_positive(row->work.done_bytes));
    case N_COLUMNS:
        break;
    }
    return "";
}

const char *column_subject(enum view_group group)
{
    return group == GROUP_SCOPE  ? "module"
           : group == GROUP_NAME ? "name"
                                 : "class";
}

bool column_is_known(enum column column, const struct ranking *ranking,
                     enum view_group group)
{
    if (columns[column].rank < COLUMNS_ALWAYS)
        return true;
    if (group == GROUP_CLASS && column == COLUMN_CLASS)
        return false;
    if (group != GROUP_SCOPE && column >= COLUMN_MEDIAN && column <= COLUMN_MAX)
        return false;
    for (size_t i = 0; i < ranking->n; i++) {
        char text[UNITS_MAX];
        const char *shown =
            column_text(text, column, &ranking->rows, &ranking->items[i]);

        if (shown[0] && strcmp(shown, "-") != 0)
            return true;
    }
    return false;
}

enum assay_status columns_caption(const struct rows *rows, struct str *text)
{
    const char *unit = rows_unit(rows).name;
    enum assay_status st;

    if (rows->n_iterations == 0)
        return str_printf(text, "in %s, over all calls", unit);
    if (rows->n_iterations == 1)
        return str_printf(text, "in %s, of the one iteration", unit);
    st = str_printf(text, "in %s per iteration, mean of %" PRIu64, unit,
                    rows->n_iterations);
    return st || !rows->n_disturbed
               ? st
               : str_printf(text, " (%zu disturbed left out)",
                            rows->n_disturbed);
}
