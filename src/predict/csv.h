/* predict/csv.h - comma-separated values with a line of column names; the
 * fields may be separated by another character instead.
 *
 * Fields may be quoted as in RFC 4180, but not span lines; an apostrophe that
 * protects a spreadsheet from running a field is removed. Columns are found by
 * name, so their order does not matter and others may be there.
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
    char separator;  /* of fields; 0: a comma */
    struct str name; /* of the file, for messages */
    struct str text;
    size_t at, line; /* line: of the current record, from 1 */
    const char *columns[CSV_MAX_COLUMNS];
    size_t n_columns;
    const char *fields[CSV_MAX_COLUMNS]; /* of the current record */
    struct arena names;
};

enum assay_status csv_open(struct csv *csv, const char *path,
                           struct error *err);
/* The same for a text; messages call it by name. */
enum assay_status csv_open_text(struct csv *csv, const char *name,
                                const char *text, size_t n, struct error *err);
void csv_release(struct csv *csv);

/* The index of a column, or -1; csv_need() fails and names it. */
int csv_find(const struct csv *csv, const char *column);
enum assay_status csv_need(const struct csv *csv, const char *column,
                           int *place, struct error *err);

/* Moves to the next record; *more is false after the last one. A record with
 * the wrong number of fields is refused. */
enum assay_status csv_next(struct csv *csv, bool *more, struct error *err);

/* A field of the record, or "" if the column does not exist (-1). */
const char *csv_field(const struct csv *csv, int place);
/* As a number; missing if the field is empty. Text and values that are not
 * finite are refused with line and column. */
enum assay_status csv_number(const struct csv *csv, int place, double missing,
                             double *out, struct error *err);
/* A whole number from low to high; an empty field is refused as well. */
enum assay_status csv_integer(const struct csv *csv, int place, int64_t low,
                              int64_t high, int64_t *out, struct error *err);

#endif
