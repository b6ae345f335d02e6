/* store/loader_internal.h - a run file while it is being read.
 *
 * Nothing in the file is trusted: it may be cut off, edited by hand or
 * malicious.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_LOADER_INTERNAL_H
#define STORE_LOADER_INTERNAL_H

#include "store/database.h"
#include "store/store_internal.h"

struct loader {
    struct database *database;
    struct db db; /* its handle */
    int version;  /* of the file's schema */
    bool has_edges;
    struct run *run;
    int64_t steps_left; /* of SQLite's machine, before we assume a loop */
};

/* Reads every table into loader->run. */
enum assay_status tables_read(struct loader *loader, struct error *err);
/* Its parts in cells_in.c. */
enum assay_status cells_read(struct loader *loader, struct error *err);
enum assay_status counters_read(struct loader *loader, struct error *err);

/* ---- one row coming in ------------------------------------------------ */

/* The rows of one table in order. Values are read by column, with the range
 * they must lie in; the first wrong one ends the reading. */
struct rows {
    struct loader *loader;
    struct error *err;
    const char *table;
    sqlite3_stmt *stmt;
    int64_t id;               /* of the row: column 0, always increasing */
    enum assay_status status; /* why the reading ended, or ASSAY_OK */
};

/* Column 0 must be the row's number. A failure is in rows.status. */
struct rows rows_open(struct loader *loader, const char *table,
                      const char *columns, struct error *err);
/* False at the end and at the first failure. */
bool rows_next(struct rows *rows);
enum assay_status rows_close(struct rows *rows);

int64_t rows_int(struct rows *rows, int column, int64_t low, int64_t high);
/* For ids: below limit; the second returns RUN_NONE for NULL. */
uint32_t rows_id(struct rows *rows, int column, size_t limit);
uint32_t rows_id_or_none(struct rows *rows, int column, size_t limit);
/* RUN_UNKNOWN for NULL. */
int64_t rows_bytes(struct rows *rows, int column);
/* A finite number; NaN for NULL. */
double rows_real(struct rows *rows, int column);
/* Borrowed until the next row; never NULL. */
const char *rows_text(struct rows *rows, int column);
/* One of n words; 0 after a failure. what: "thread". */
size_t rows_word(struct rows *rows, int column, const char *const *words,
                 size_t n, const char *what);
/* A sketch of n values. *out is empty after a failure. */
void rows_sketch(struct rows *rows, int column, uint64_t n, struct sketch *out);
/* Ends the reading if another function failed, and adds the place. */
void rows_take(struct rows *rows, enum assay_status st);
/* Ends the reading: "run.assay is damaged: table scope, row 7: ..." */
void rows_refuse(struct rows *rows, const char *format, ...) ASSAY_PRINTF(2, 3);

#endif
