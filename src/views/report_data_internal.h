/* views/report_data_internal.h - the JSON in the HTML report.
 *
 * Columns instead of objects, and six significant digits, so that a page of two
 * thousand scopes stays small. Scopes are identified by their row in the order
 * of the tree. src/views/html/model.js reads it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_REPORT_DATA_INTERNAL_H
#define VIEWS_REPORT_DATA_INTERNAL_H

#include "base/json.h"
#include "run/compare.h"
#include "views/scope_rows.h"
#include "views/trend.h"

enum {
    REPORT_DIGITS = 6,
    REPORT_MAX_SLICES = 200000, /* in the timeline of one run */
    REPORT_EXACT_SLICES = 30000 /* up to here their times are not rounded */
};

/* A run as its rows, and the row of each scope. Start from {0}; release also
 * after a failure. */
struct report_rows {
    const struct run *run;
    struct rows rows;
    uint32_t *row_of; /* by scope */
    double *values;   /* room for a column */
};

enum assay_status report_rows_build(const struct run *run,
                                    struct report_rows *rows,
                                    struct error *err);
void report_rows_release(struct report_rows *rows);

/* Begins an array with a name; json_array_end() ends it. */
void report_column(struct json_writer *json, const char *key);
void report_number(struct json_writer *json, double value);
/* A row, or null if RUN_NONE. */
void report_row(struct json_writer *json, uint32_t row);

/* One run as an object. */
enum assay_status report_write_run(struct json_writer *json,
                                   const struct report_rows *rows,
                                   const char *source, struct error *err);

/* The member "stretches": the samples that are kept in full, one stretch per
 * iteration. If there are more than REPORT_MAX_SLICES, the longest of each
 * stretch; "left_out" counts the others. They are base64 of numbers of seven
 * bits per byte; report_slices.c says which. */
enum assay_status report_write_slices(struct json_writer *json,
                                      const struct report_rows *rows,
                                      struct error *err);

/* A comparison as an object, with rows of both sides: what `assay compare`
 * prints of each, in its words, so that the page has no rules of its own. gate
 * may be NULL. */
enum assay_status report_write_comparison(struct json_writer *json,
                                          const struct comparison *comparison,
                                          const struct gate_result *gate,
                                          const struct report_rows *a,
                                          const struct report_rows *b,
                                          struct error *err);

/* The member "trend". */
void report_write_trend(struct json_writer *json, const struct trend *trend);

#endif
