/* views/columns.h - the columns that tables of a run have, one list of them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_COLUMNS_H
#define VIEWS_COLUMNS_H

#include "base/units.h"
#include "views/ranking.h"

/* constant, title, columns on the screen, the screen that has room for it.
 * Titles of times get their unit: "total ms". */
#define VIEW_COLUMNS(X)                                                        \
    X(COLUMN_CALLS, "calls", 8, 0)                                             \
    X(COLUMN_TOTAL, "total", 10, 0)                                            \
    X(COLUMN_SELF, "self", 10, 0)                                              \
    X(COLUMN_SHARE, "share", 7, 0)                                             \
    X(COLUMN_CALL, "a call", 10, 76)                                           \
    X(COLUMN_MEDIAN, "median", 10, 100)                                        \
    X(COLUMN_P95, "p95", 10, 88)                                               \
    X(COLUMN_MIN, "min", 10, 120)                                              \
    X(COLUMN_MAX, "max", 10, 108)                                              \
    X(COLUMN_PEAK, "peak", 10, 130)

enum column {
#define VIEW_COLUMN_ENUM(name, title, width, screen) name,
    VIEW_COLUMNS(VIEW_COLUMN_ENUM)
#undef VIEW_COLUMN_ENUM
        N_COLUMNS
};

size_t column_width(enum column column);
/* The narrowest screen that shows it. */
int column_screen(enum column column);
const char *column_title(char buffer[UNITS_MAX], enum column column,
                         struct time_unit unit);
const char *column_text(char buffer[UNITS_MAX], enum column column,
                        const struct rows *rows, const struct ranked *item,
                        struct time_unit unit);

/* A column of memory is worth its place where something is known of it. */
bool ranking_has_bytes(const struct ranking *ranking);

/* What the numbers of a table are: one sentence. */
enum assay_status columns_caption(const struct rows *rows, struct str *text);

#endif
