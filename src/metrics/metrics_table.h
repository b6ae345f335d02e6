/* metrics/metrics_table.h - metrics of one model, or of two side by side, as
 * rows of text and as a boxed table.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_METRICS_TABLE_H
#define METRICS_METRICS_TABLE_H

#include "base/term.h"

#include <assay/profiler.h>
#include <stdbool.h>

struct metrics_table {
    const struct assay_profiler *profilers[2];
    const char *names[2];
    const char *backend; /* that ran the first */
    size_t n_models;
    const size_t *keys[2]; /* indices of the shown metrics in each profiler */
    size_t n_keys;
};

enum metrics_cell {
    METRICS_NAME,
    METRICS_FIRST,
    METRICS_ENHANCEMENT,
    METRICS_SECOND,
    N_METRICS_CELLS
};

enum { METRICS_TEXT = 96 };

struct metrics_row {
    char texts[N_METRICS_CELLS][METRICS_TEXT];
};

/* Whether the table has this column. */
bool metrics_table_has(const struct metrics_table *table,
                       enum metrics_cell cell);

/* The two rows of the head, and the i-th metric's. */
void metrics_table_title(const struct metrics_table *table,
                         struct metrics_row *row);
void metrics_table_backend(const struct metrics_table *table,
                           struct metrics_row *row);
void metrics_table_row(const struct metrics_table *table, size_t i,
                       struct metrics_row *row);

void metrics_table_write(const struct metrics_table *table, struct sink *sink,
                         const struct term *term);

#endif
