/* store/database.h - SQLite databases that somebody else may have made.
 *
 * What lies beside a database is SQLite's to obey: a journal is played back
 * into it and may name a further file, which is removed then; a pipe in its
 * place is waited for. And a path that begins with "file:" is a URI to it. So
 * a database is opened here, by the name that its path comes to, and SQLite
 * reaches that file and its own journal, nothing else.
 *
 * Statements in a database do not run: no views, triggers or functions of its
 * schema. Write-ahead logs are refused.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_DATABASE_H
#define STORE_DATABASE_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum database_use {
    /* Nothing changes on the disk: a journal that a killed program left is
     * played back in memory. */
    DATABASE_READ,
    /* For what is our own (database_application()): made where it is not
     * there; such a journal is played back into it. */
    DATABASE_WRITE
};

struct database;

/* On failure *out is NULL. The path is borrowed, for messages. */
enum assay_status database_open(const char *path, enum database_use use,
                                struct database **out, struct error *err);
void database_close(struct database *database); /* accepts NULL */

/* Borrowed. */
sqlite3 *database_handle(struct database *database);

/* How long it is, as SQLite sees it: after the playback. */
int64_t database_bytes(const struct database *database);

/* Whether anything is there, and the application id it has, without changing
 * anything. What is empty is not there. ASSAY_BAD_INPUT where it is no
 * database. */
enum assay_status database_application(const char *path, bool *is_there,
                                       int *id, struct error *err);

#endif
