/* store/sql.c - SQLite's failures in our words, and rows going out. */
#include "store/store_internal.h"

#include <errno.h>

static enum assay_status system_error(const struct db *db, const char *doing,
                                      struct error *err)
{
    int why = sqlite3_system_errno(db->handle);

    if (why)
        return error_errno(err, why == ENOENT ? EIO : why, "%s %s", doing,
                           db->path);
    return error_set(err, ASSAY_IO, "%s %s: %s", doing, db->path,
                     sqlite3_errmsg(db->handle));
}

static enum assay_status readonly_error(const struct db *db, const char *doing,
                                        struct error *err)
{
    if (sqlite3_extended_errcode(db->handle) == SQLITE_READONLY_DBMOVED)
        return error_set(err, ASSAY_IO,
                         "%s %s: its file was moved or removed meanwhile",
                         doing, db->path);
    return error_set(err, ASSAY_IO, "%s %s: it may not be written", doing,
                     db->path);
}

enum assay_status db_error(const struct db *db, const char *doing,
                           struct error *err)
{
    switch (sqlite3_errcode(db->handle) & 0xff) {
    case SQLITE_NOMEM:
        return error_set(err, ASSAY_NOMEM, "out of memory: %s %s", doing,
                         db->path);
    case SQLITE_FULL:
        return error_set(err, ASSAY_IO,
                         "%s %s: the disk is full; free some space or name "
                         "another place",
                         doing, db->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, ASSAY_IO,
                         "%s %s: another program holds it; try again when it "
                         "is done",
                         doing, db->path);
    case SQLITE_READONLY:
        return readonly_error(db, doing, err);
    case SQLITE_TOOBIG:
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s %s: a text in it is longer than %d MiB", doing,
                         db->path, STORE_MAX_TEXT >> 20);
    case SQLITE_INTERRUPT: /* the loader's patience ended */
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged: its pages lead back into themselves",
                         db->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR:
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged (%s); was it copied to the end?",
                         db->path, sqlite3_errmsg(db->handle));
    default:
        return system_error(db, doing, err);
    }
}

size_t store_memory_peak(void)
{
    return (size_t)sqlite3_memory_highwater(0);
}

enum assay_status db_execute(const struct db *db, const char *sql,
                             struct error *err)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL))
        return db_error(db, "writing", err);
    return ASSAY_OK;
}

struct row row_start(sqlite3_stmt *stmt)
{
    return (struct row){.stmt = stmt, .rc = SQLITE_OK};
}

static void row_take(struct row *row, int rc)
{
    if (!row->rc)
        row->rc = rc;
}

void row_int(struct row *row, int64_t value)
{
    row_take(row, sqlite3_bind_int64(row->stmt, ++row->n, value));
}

void row_count(struct row *row, uint64_t value)
{
    row_int(row, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void row_real(struct row *row, double value)
{
    row_take(row, sqlite3_bind_double(row->stmt, ++row->n, value));
}

void row_text(struct row *row, const char *text)
{
    row_take(row,
             sqlite3_bind_text(row->stmt, ++row->n, text, -1, SQLITE_STATIC));
}

void row_id(struct row *row, uint32_t id)
{
    if (id == RUN_NONE)
        row_take(row, sqlite3_bind_null(row->stmt, ++row->n));
    else
        row_int(row, id);
}

void row_bytes(struct row *row, int64_t bytes)
{
    if (bytes == RUN_UNKNOWN)
        row_take(row, sqlite3_bind_null(row->stmt, ++row->n));
    else
        row_int(row, bytes);
}

void row_blob(struct row *row, struct str *blob)
{
    row_take(row, sqlite3_bind_blob64(row->stmt, ++row->n, str_text(blob),
                                      blob->n, SQLITE_STATIC));
}

enum assay_status row_write(struct row *row, const struct db *db,
                            struct error *err)
{
    row_take(row, sqlite3_step(row->stmt));
    /* The reset repeats the failure of the step. */
    if (sqlite3_reset(row->stmt) || row->rc != SQLITE_DONE)
        return db_error(db, "writing", err);
    return ASSAY_OK;
}
