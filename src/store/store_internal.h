/* store/store_internal.h - what the files of this room share.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_STORE_INTERNAL_H
#define STORE_STORE_INTERNAL_H

#include "store/store.h"

#include <sqlite3.h>

/* "ASAY", the application id in SQLite's header. */
#define STORE_APPLICATION_ID 0x41534159

enum {
    STORE_VERSION = 6,            /* of the schema: docs/run-file.md */
    STORE_PLAIN_VERSION = 5,      /* of a file without the additions of 6 */
    STORE_MAX_PATH = 1000,        /* longer paths of scopes are not stored */
    STORE_MAX_TEXT = 16 << 20,    /* bytes of one value in a file */
    STORE_BUSY_TIMEOUT_MS = 5000, /* while another program locks the file */
    STORE_CACHE_KIB = 4096        /* of pages that SQLite may hold */
};

/* SQL that makes an empty run file of STORE_PLAIN_VERSION, and extends it to
 * STORE_VERSION. */
extern const char store_tables[];
extern const char store_views[];
extern const char store_extension[];
/* Makes the table of edges, which any version may have. */
extern const char store_edges[];

/* ---- a connection ----------------------------------------------------- */

struct db {
    sqlite3 *handle;
    const char *path; /* as the user wrote it, for messages */
};

/* Explains SQLite's last failure on this connection to the user; doing is
 * "reading" or "writing". */
enum assay_status db_error(const struct db *db, const char *doing,
                           struct error *err);

/* For statements without results. */
enum assay_status db_execute(const struct db *db, const char *sql,
                             struct error *err);

/* ---- one row going out ------------------------------------------------ */

/* Collects the values of a row in order. After a failure the functions do
 * nothing, and row_write() returns it. */
struct row {
    const struct db *db;
    struct error *err;
    sqlite3_stmt *stmt;
    int n;                    /* values so far */
    int rc;                   /* SQLite's first failure */
    enum assay_status status; /* why there is no statement */
};

void row_int(struct row *row, int64_t value);
void row_count(struct row *row, uint64_t value);
void row_real(struct row *row, double value); /* NaN becomes NULL */
void row_text(struct row *row, const char *text);
void row_id(struct row *row, uint32_t id);        /* NULL for RUN_NONE */
void row_bytes(struct row *row, int64_t bytes);   /* NULL for RUN_UNKNOWN */
void row_blob(struct row *row, struct str *blob); /* borrowed until written */
enum assay_status row_write(struct row *row);

/* ---- sketches --------------------------------------------------------- */

/* Appends for each non-empty bucket, in order, its distance from the one before
 * (the first: from 0) and its count, both as LEB128. */
enum assay_status sketch_encode(const struct sketch *sketch, struct str *blob);

/* ASSAY_BAD_INPUT if the bytes are not a sketch; *out is then empty. */
enum assay_status sketch_decode(const void *blob, size_t n_bytes,
                                struct sketch *out);

/* ---- unfinished runs --------------------------------------------------- */

/* Adds the location of a part file, if there is one, to the message that the
 * run file does not exist. */
void leftovers_hint(const char *path, struct error *err);

/* ---- files that are not run files -------------------------------------- */

/* Says what a file that is not a SQLite database is, from its first bytes.
 * Always fails. */
enum assay_status kind_refuse(const char *path, struct error *err);

#endif
