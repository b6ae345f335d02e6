/* store/guard.h - what SQLite may reach of the disk while it works on one
 * database: that file and its journal; see database.h.
 *
 * A VFS of its own for each connection, over the one of the system. SQLite may
 * believe that it writes: of a guest, a database that is only read, the pages
 * stay in memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_GUARD_H
#define STORE_GUARD_H

#include "base/map.h"

#include <sqlite3.h>

/* ---- guard_pages.c: what was written to a guest ---------------------------
 */

/* Start from {0}. */
struct guard_pages {
    struct map at;     /* from the place in the file to the page */
    struct page *last; /* of all of them */
    size_t n_bytes;    /* of a page; 0: none was written */
};

void guard_pages_release(struct guard_pages *pages);
/* Both answer as SQLite's functions do. */
int guard_pages_write(struct guard_pages *pages, const void *bytes, int n,
                      int64_t at);
/* Puts what was written over bytes that were read from the file. */
void guard_pages_cover(const struct guard_pages *pages, void *bytes, int n,
                       int64_t at);

/* ---- guard.c -------------------------------------------------------------
 */

struct guard {
    sqlite3_vfs vfs;     /* what SQLite is given */
    sqlite3_vfs *system; /* what does the work */
    char name[40];       /* of the VFS */
    char *path;          /* resolved */
    char *journal;
    bool is_guest;
    bool is_played_back; /* the guest's journal counts as removed */
    bool has_log;        /* the file is one with a write-ahead log */
    sqlite3_file *main;  /* the system's, once it is open */
    bool is_sized;       /* the guest has another size now: */
    int64_t size;
    struct guard_pages pages;
};

/* Makes it known to SQLite under guard->name. The caller has set path, journal
 * and is_guest. False without memory. */
bool guard_init(struct guard *guard);
/* When the connection is closed. */
void guard_release(struct guard *guard);

/* Whether SQLite would take this for a journal: a regular file that is not
 * empty. */
bool guard_has_journal(const struct guard *guard);

/* How long the database is; -1: not known. */
int64_t guard_bytes(const struct guard *guard);

#endif
