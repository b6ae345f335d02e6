/* predict/csv.h - comma-separated values with a line of column names.
 *
 * Fields may be quoted as RFC 4180 has it, but not over several lines; an
 * apostrophe that keeps a spreadsheet from running one is taken off. Columns
 * are asked for by name, so their order does not matter and others may be
 * there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_CSV_H
#define PREDICT_CSV_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_MAX_COLUMNS = 128 };

/* Start from {0}. */
struct csv {
    struct str name; /* of the file, for messages */
    struct str text;
    size_t at, line; /* line: of the record just read, from 1 */
    const char *columns[CSV_MAX_COLUMNS];
    size_t n_columns;
    const char *fields[CSV_MAX_COLUMNS]; /* of the record just read */
    struct arena names;
};

enum assay_status csv_open(struct csv *csv, const char *path,
                           struct error *err);
/* The same for a text; name is what messages call it. */
enum assay_status csv_open_text(struct csv *csv, const char *name,
                                const char *text, size_t n, struct error *err);
void csv_release(struct csv *csv);

/* Where a column is, or -1; csv_need() fails and names it. */
int csv_find(const struct csv *csv, const char *column);
enum assay_status csv_need(const struct csv *csv, const char *column,
                           int *place, struct error *err);

/* The next record; *more is false behind the last one. A record with too few
 * or too many fields is refused. */
enum assay_status csv_next(struct csv *csv, bool *more, struct error *err);

/* A field of the record: "" where the column is not there (-1). */
const char *csv_field(const struct csv *csv, int place);
/* As a number; missing where the field is empty. Text, and what is not finite,
 * is refused with its line and column. */
enum assay_status csv_number(const struct csv *csv, int place, double missing,
                             double *out, struct error *err);
/* A whole number between the bounds; an empty field is refused too. */
enum assay_status csv_integer(const struct csv *csv, int place, int64_t low,
                              int64_t high, int64_t *out, struct error *err);

#endif
