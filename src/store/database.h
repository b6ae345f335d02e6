/* store/database.h - opens SQLite databases that somebody else may have made.
 *
 * SQLite obeys files next to a database: it plays a journal back into it, and
 * deletes a further file that the journal may name; it waits for a pipe in its
 * place. And it treats a path that begins with "file:" as a URI. So databases
 * are opened here, by their resolved path, and SQLite can reach only that file
 * and its own journal.
 *
 * Code in a database does not run: no views, triggers or functions of its
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
    /* Nothing changes on disk: a journal left by a killed program is played
     * back in memory. */
    DATABASE_READ,
    /* For our own databases (database_application()): created if missing; such
     * a journal is played back into the file. */
    DATABASE_WRITE
};

struct database;

/* On failure *out is NULL. The path is borrowed, for messages. */
enum assay_status database_open(const char *path, enum database_use use,
                                struct database **out, struct error *err);
void database_close(struct database *database); /* accepts NULL */

/* Borrowed. */
sqlite3 *database_handle(struct database *database);

/* Its size as SQLite sees it, after the playback. */
int64_t database_bytes(const struct database *database);

/* Whether there is a file that is not empty, and its application id, without
 * changing anything. ASSAY_BAD_INPUT if it is not a database. */
enum assay_status database_application(const char *path, bool *is_there,
                                       int *id, struct error *err);

#endif
