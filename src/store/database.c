/* store/database.c - see database.h. */
#include "store/database.h"

#include "base/file.h"
#include "base/mem.h"
#include "store/guard_internal.h"
#include "store/store_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct database {
    struct guard guard;
    struct db db;
};

/* ---- names -------------------------------------------------------------- */

/* Resolves the folder of a file that does not exist yet. */
static bool database_resolve_new(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char folder[PATH_MAX];
    struct stat info;
    size_t n;

    if (lstat(path, &info) == 0 || !*name) {
        errno = ENOENT; /* a link to nothing; no name */
        return false;
    }
    n = slash ? (size_t)(slash - path) + 1 : 0;
    if (snprintf(folder, sizeof folder, "%.*s", (int)n, path) >= PATH_MAX ||
        !realpath(n ? folder : ".", out))
        return false;
    n = strlen(out);
    if (snprintf(out + n, PATH_MAX - n, "%s%s", n > 1 ? "/" : "", name) >=
        (int)(PATH_MAX - n)) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

static enum assay_status database_resolve(struct database *database,
                                          enum database_use use,
                                          struct error *err)
{
    const char *path = database->db.path;
    struct guard *guard = &database->guard;
    char full[PATH_MAX];
    struct str journal = {0};
    size_t n = strlen(path);

    if (!realpath(path, full) && (use == DATABASE_READ || errno != ENOENT ||
                                  !database_resolve_new(path, full)))
        return error_errno(err, errno, "cannot %s %s",
                           use == DATABASE_READ ? "read" : "write", path);
    guard->path = mem_strdup(full);
    if (!guard->path || str_printf(&journal, "%s-journal", full))
        return error_nomem(err, n, "a file name");
    guard->journal = journal.text;
    guard->is_guest = use == DATABASE_READ;
    return ASSAY_OK;
}

/* ---- checks ----------------------------------------------------------- */

/* A journal may name a further file, which SQLite deletes after playing the
 * journal back. Ours never do; one that does is a trap. */
static bool database_has_trap(const struct guard *guard)
{
    static const unsigned char mark[] = {0xd9, 0xd5, 0x05, 0xf9,
                                         0x20, 0xa1, 0x63, 0xd7};
    unsigned char tail[sizeof mark];
    struct error ignored = {0};
    bool is_marked;
    off_t size;
    int fd;

    if (!guard_has_journal(guard) || file_open(guard->journal, &fd, &ignored))
        return false;
    size = lseek(fd, 0, SEEK_END);
    is_marked = size > (off_t)sizeof mark &&
                pread(fd, tail, sizeof tail, size - (off_t)sizeof tail) ==
                    (ssize_t)sizeof tail &&
                memcmp(tail, mark, sizeof mark) == 0;
    close(fd);
    return is_marked;
}

/* SQLite would wait for a pipe, and it refuses longer names. */
static enum assay_status database_check(const struct database *database,
                                        struct error *err)
{
    enum { suffix = 16, most_path = 512 }; /* SQLite's limits */
    const struct guard *guard = &database->guard;
    const char *path = database->db.path;
    struct stat info;

    if (strlen(guard->path) > most_path - suffix)
        return error_set(err, ASSAY_BAD_INPUT,
                         "the full path of %s has more than %d bytes, too "
                         "many for SQLite; use a shorter one",
                         path, most_path - suffix);
    if (stat(guard->path, &info) == 0 && !S_ISREG(info.st_mode))
        return error_set(err, ASSAY_BAD_INPUT,
                         "cannot read %s: it is not a regular file", path);
    if (database_has_trap(guard) ||
        (!guard->is_guest && lstat(guard->journal, &info) == 0 &&
         !S_ISREG(info.st_mode)))
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s has a journal that is not its own; remove %s",
                         path, guard->journal);
    return ASSAY_OK;
}

/* ---- opening ------------------------------------------------------------ */

/* Nothing in the file may run: no functions in its schema, no views or
 * triggers, no extensions. */
static enum assay_status database_harden(const struct db *db, struct error *err)
{
    static const int off[] = {
        SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
        SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION};

    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        sqlite3_db_config(db->handle, off[i], 0, NULL);
    sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, STORE_MAX_TEXT);
    sqlite3_limit(db->handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db->handle, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_busy_timeout(db->handle, STORE_BUSY_TIMEOUT_MS);
    if (sqlite3_exec(db->handle,
                     "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;",
                     NULL, NULL, NULL))
        return db_error(db, "opening", err);
    return ASSAY_OK;
}

static enum assay_status database_explain(const struct database *database,
                                          struct error *err)
{
    if (database->guard.has_log)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "%s was set to write-ahead logging; set it back with "
                         "sqlite3 and PRAGMA journal_mode=DELETE",
                         database->db.path);
    return db_error(&database->db, "opening", err);
}

static enum assay_status database_connect(struct database *database,
                                          struct error *err)
{
    const struct guard *guard = &database->guard;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

    if (!guard->is_guest)
        flags |= SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(guard->path, &database->db.handle, flags, guard->name))
        return database_explain(database, err);
    return database_harden(&database->db, err);
}

enum assay_status database_open(const char *path, enum database_use use,
                                struct database **out, struct error *err)
{
    struct database *database = mem_zalloc(sizeof *database);
    enum assay_status st;

    *out = NULL;
    if (!database)
        return error_nomem(err, sizeof *database, "a database");
    database->db.path = path;
    st = database_resolve(database, use, err);
    if (!st)
        st = database_check(database, err);
    if (!st && !guard_init(&database->guard))
        st = error_nomem(err, sizeof *database, "a database");
    if (!st)
        st = database_connect(database, err);
    if (st)
        database_close(database);
    else
        *out = database;
    return st;
}

void database_close(struct database *database)
{
    if (!database)
        return;
    sqlite3_close(database->db.handle);
    guard_release(&database->guard);
    mem_free(database);
}

sqlite3 *database_handle(struct database *database)
{
    return database->db.handle;
}

int64_t database_bytes(const struct database *database)
{
    return guard_bytes(&database->guard);
}

/* ---- the application id ----------------------------------------------- */

static enum assay_status database_ask_application(struct database *database,
                                                  int *id, struct error *err)
{
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;

    if (sqlite3_prepare_v2(database->db.handle, "PRAGMA application_id", -1,
                           &row, NULL) ||
        sqlite3_step(row) != SQLITE_ROW)
        st = db_error(&database->db, "reading", err);
    else
        *id = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    return st;
}

enum assay_status database_application(const char *path, bool *is_there,
                                       int *id, struct error *err)
{
    struct database *database = NULL;
    struct stat info;
    enum assay_status st;

    *is_there = false;
    *id = 0;
    if (stat(path, &info) ? errno == ENOENT
                          : S_ISREG(info.st_mode) && info.st_size == 0)
        return ASSAY_OK;
    st = database_open(path, DATABASE_READ, &database, err);
    if (!st)
        st = database_ask_application(database, id, err);
    if (!st)
        *is_there = database_bytes(database) > 0;
    database_close(database);
    return st;
}
