/* views/columns_internal.h - the columns of tables of a run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_COLUMNS_INTERNAL_H
#define VIEWS_COLUMNS_INTERNAL_H

#include "base/units.h"
#include "views/ranking_internal.h"

/* constant, title, columns on the screen, rank: how many others come first on a
 * narrow screen. The first four are always shown. */
#define VIEW_COLUMNS(X)                                                        \
    X(COLUMN_CLASS, "class", 18, 12)                                           \
    X(COLUMN_CALLS, "calls", 8, 3)                                             \
    X(COLUMN_TOTAL, "total", 10, 0)                                            \
    X(COLUMN_SELF, "self", 10, 1)                                              \
    X(COLUMN_DEVICE, "device", 10, 4)                                          \
    X(COLUMN_SHARE, "share", 7, 2)                                             \
    X(COLUMN_CALL, "per call", 9, 10)                                          \
    X(COLUMN_MEDIAN, "median", 9, 13)                                          \
    X(COLUMN_P95, "p95", 9, 11)                                                \
    X(COLUMN_MIN, "min", 9, 15)                                                \
    X(COLUMN_MAX, "max", 9, 14)                                                \
    X(COLUMN_GMAC, "GMAC", 9, 8)                                               \
    X(COLUMN_GFLOPS, "GFLOP/s", 9, 5)                                          \
    X(COLUMN_GBS, "GB/s", 7, 16)                                               \
    X(COLUMN_BOUND, "bound", 9, 6)                                             \
    X(COLUMN_REACHED, "reached", 8, 9)                                         \
    X(COLUMN_SAVED, "saved", 9, 7)                                             \
    X(COLUMN_PEAK, "peak", 10, 17)                                             \
    X(COLUMN_PARAMETERS, "params", 9, 18)                                      \
    X(COLUMN_MOVED, "moved", 10, 19)

enum column {
#define VIEW_COLUMN_ENUM(name, title, width, screen) name,
    VIEW_COLUMNS(VIEW_COLUMN_ENUM)
#undef VIEW_COLUMN_ENUM
        N_COLUMNS
};

enum { COLUMNS_ALWAYS = 4 };

size_t column_width(enum column column);
/* The column of a rank. */
enum column column_ranked(size_t rank);
/* With the unit of the rows' times or rates. */
const char *column_title(char buffer[UNITS_MAX], enum column column,
                         const struct rows *rows);
/* Returns the buffer, or a text of the row itself. */
const char *column_text(char buffer[UNITS_MAX], enum column column,
                        const struct rows *rows, const struct ranked *item);

/* "88.1", "<0.001", or "-" if there are none. */
const char *column_gmac(char buffer[UNITS_MAX], const struct row *row);
/* In the unit of rows_rate(). */
const char *column_gflops(char buffer[UNITS_MAX], const struct rows *rows,
                          const struct row *row);

/* "compute"; "-" if it is not known. */
const char *column_bound(const struct row *row);

/* Whether a listed row has a value for the column, or it is always shown. Rows
 * that were joined have no median, percentile or extreme, so their tables are
 * without these. */
bool column_is_known(enum column column, const struct ranking *ranking,
                     enum view_group group);
/* What the first column names: "module", "class". */
const char *column_subject(enum view_group group);

/* What the times of a table or a tree are: "in ms per iteration, ...". */
enum assay_status columns_caption(const struct rows *rows, struct str *text);

#endif
