/* store/store_internal.h - what the files of this room share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>

/* "ASAY": what file(1) and SQLite call the header's application id. */
#define STORE_APPLICATION_ID 0x41534159

enum {
    STORE_VERSION = 6,            /* of the schema: docs/run-file.md */
    STORE_PLAIN_VERSION = 5,      /* of a file without what 6 added */
    STORE_MAX_PATH = 1000,        /* longer paths of scopes are not stored */
    STORE_MAX_TEXT = 16 << 20,    /* of one value in a file, in bytes */
    STORE_BUSY_TIMEOUT_MS = 5000, /* for another program to let go of it */
    STORE_CACHE_KIB = 4096        /* of pages that SQLite may hold */
};

/* What makes an empty run file of STORE_PLAIN_VERSION, and of that one of
 * STORE_VERSION. */
extern const char store_tables[];
extern const char store_views[];
extern const char store_extension[];

/* ---- a connection ----------------------------------------------------- */

struct db {
    sqlite3 *handle;
    const char *path; /* as the user wrote it, for messages */
};

/* Says what SQLite's last failure on this connection means for the user;
 * doing is "reading" or "writing". */
enum assay_status db_error(const struct db *db, const char *doing,
                           struct error *err);

/* Statements that answer nothing. */
enum assay_status db_execute(const struct db *db, const char *sql,
                             struct error *err);

/* ---- one row going out ------------------------------------------------ */

/* Collects the values of a row in order and the first failure among them. */
struct row {
    sqlite3_stmt *stmt;
    int n; /* values so far */
    int rc;
};

struct row row_start(sqlite3_stmt *stmt);
void row_int(struct row *row, int64_t value);
void row_count(struct row *row, uint64_t value);
void row_real(struct row *row, double value); /* NaN becomes NULL */
void row_text(struct row *row, const char *text);
void row_id(struct row *row, uint32_t id);        /* NULL for RUN_NONE */
void row_bytes(struct row *row, int64_t bytes);   /* NULL for RUN_UNKNOWN */
void row_blob(struct row *row, struct str *blob); /* borrowed until written */
enum assay_status row_write(struct row *row, const struct db *db,
                            struct error *err);

/* ---- sketches --------------------------------------------------------- */

/* As bytes: for each bucket that is not empty, in order, how far it is from
 * the one before (the first: from 0) and its count, both as LEB128. Appends. */
enum assay_status sketch_encode(const struct sketch *sketch, struct str *blob);

/* ASSAY_BAD_INPUT where the bytes are no sketch; *out is empty then. */
enum assay_status sketch_decode(const void *blob, size_t n_bytes,
                                struct sketch *out);

/* ---- unfinished runs --------------------------------------------------- */

/* Adds where a part of a run file lies to a message that the file is not
 * there. */
void leftovers_hint(const char *path, struct error *err);

/* ---- what a file is instead ------------------------------------------- */

/* Looks at the first bytes of a file that is no SQLite database and says so:
 * always a failure. */
enum assay_status kind_refuse(const char *path, struct error *err);

#endif
