/* store/guard_internal.h - limits SQLite to one database file and its journal
 * while it works on it; see database.h.
 *
 * Each connection has a VFS of its own, on top of the system's. A guest is a
 * database that is only read: SQLite believes that it writes to it, but the
 * pages stay in memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STORE_GUARD_INTERNAL_H
#define STORE_GUARD_INTERNAL_H

#include "base/map.h"

#include <sqlite3.h>

/* Pages that SQLite wrote to a guest. */
struct guard_pages {
    struct map at;           /* from the offset in the file to the page */
    struct guard_page *last; /* of a list of all */
    size_t n_bytes;          /* per page; 0: none was written */
};

struct guard {
    sqlite3_vfs vfs;     /* passed to SQLite */
    sqlite3_vfs *system; /* does the work */
    char name[40];       /* of the VFS */
    char *path;          /* resolved */
    char *journal;
    bool is_guest;
    bool is_played_back; /* the guest's journal counts as removed */
    bool has_log;        /* the file has a write-ahead log */
    sqlite3_file *main;  /* the system's, once it is open */
    bool is_sized;       /* the guest now has another size: */
    int64_t size;
    struct guard_pages pages;
};

/* Registers the VFS with SQLite as guard->name. The caller has set path,
 * journal and is_guest. False if memory runs out. */
bool guard_init(struct guard *guard);
/* Call it after closing the connection. */
void guard_release(struct guard *guard);

/* Whether there is a file that SQLite would take for a journal: a regular file
 * that is not empty. */
bool guard_has_journal(const struct guard *guard);

/* The size of the database; -1: unknown. */
int64_t guard_bytes(const struct guard *guard);

#endif
