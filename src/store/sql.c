/* store/sql.c - SQLite's failures in our words, and rows going out. */
#include "store/writer_internal.h"

#include <errno.h>

static enum assay_status sql_system_error(const struct db *db,
                                          const char *doing, struct error *err)
{
    int why = sqlite3_system_errno(db->handle);

    if (why)
        return error_errno(err, why == ENOENT ? EIO : why, "%s %s", doing,
                           db->path);
    return error_set(err, ASSAY_IO, "%s %s: %s", doing, db->path,
                     sqlite3_errmsg(db->handle));
}

static enum assay_status
sql_readonly_error(const struct db *db, const char *doing, struct error *err)
{
    if (sqlite3_extended_errcode(db->handle) == SQLITE_READONLY_DBMOVED)
        return error_set(err, ASSAY_IO,
                         "%s %s: the file was moved or removed meanwhile",
                         doing, db->path);
    return error_set(err, ASSAY_IO, "%s %s: the file is read-only", doing,
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
        return error_set(
            err, ASSAY_IO,
            "%s %s: the disk is full; free some space or write elsewhere",
            doing, db->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_set(err, ASSAY_IO,
                         "%s %s: another program has locked it; try again when "
                         "it is done",
                         doing, db->path);
    case SQLITE_READONLY:
        return sql_readonly_error(db, doing, err);
    case SQLITE_TOOBIG:
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s %s: a text in it is longer than %d MiB", doing,
                         db->path, STORE_MAX_TEXT >> 20);
    case SQLITE_INTERRUPT: /* the loader's steps ran out */
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged: its pages form a loop", db->path);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_SCHEMA:
    case SQLITE_ERROR:
        return error_set(err, ASSAY_BAD_INPUT,
                         "%s is damaged (%s); was it copied completely?",
                         db->path, sqlite3_errmsg(db->handle));
    default:
        return sql_system_error(db, doing, err);
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

/* ---- one row ---------------------------------------------------------- */

/* Moves to the next value; false after a failure. */
static bool row_next(struct row *row)
{
    row->n++;
    return row->stmt && !row->rc;
}

void row_int(struct row *row, int64_t value)
{
    if (row_next(row))
        row->rc = sqlite3_bind_int64(row->stmt, row->n, value);
}

void row_count(struct row *row, uint64_t value)
{
    row_int(row, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void row_real(struct row *row, double value)
{
    if (row_next(row))
        row->rc = sqlite3_bind_double(row->stmt, row->n, value);
}

void row_text(struct row *row, const char *text)
{
    if (row_next(row))
        row->rc = sqlite3_bind_text(row->stmt, row->n, text, -1, SQLITE_STATIC);
}

void row_id(struct row *row, uint32_t id)
{
    row_bytes(row, id == RUN_NONE ? RUN_UNKNOWN : (int64_t)id);
}

void row_bytes(struct row *row, int64_t bytes)
{
    if (bytes != RUN_UNKNOWN)
        row_int(row, bytes);
    else if (row_next(row))
        row->rc = sqlite3_bind_null(row->stmt, row->n);
}

void row_blob(struct row *row, struct str *blob)
{
    if (row_next(row))
        row->rc = sqlite3_bind_blob64(row->stmt, row->n, str_text(blob),
                                      blob->n, SQLITE_STATIC);
}

enum assay_status row_write(struct row *row)
{
    if (!row->stmt)
        return row->status;
    if (!row->rc)
        row->rc = sqlite3_step(row->stmt);
    /* The reset repeats the failure of the step. */
    if (sqlite3_reset(row->stmt) || row->rc != SQLITE_DONE)
        return db_error(row->db, "writing", row->err);
    return ASSAY_OK;
}

/* ---- many rows -------------------------------------------------------- */

void bulk_release(struct bulk *bulk)
{
    sqlite3_finalize(bulk->many);
    sqlite3_finalize(bulk->one);
    bulk->many = bulk->one = NULL;
}

static enum assay_status bulk_prepare_rows(const struct db *db,
                                           const struct bulk *bulk, int n_rows,
                                           sqlite3_stmt **stmt,
                                           struct error *err)
{
    struct str sql = {0};
    enum assay_status st =
        str_printf(&sql, "INSERT INTO %s VALUES", bulk->table);

    for (int row = 0; row < n_rows && !st; row++) {
        st = str_append(&sql, row ? ",(" : "(");
        for (int i = 0; i < bulk->n_columns && !st; i++)
            st = str_append(&sql, i ? ",?" : "?");
        if (!st)
            st = str_append_char(&sql, ')');
    }
    if (st)
        st = error_nomem(err, sql.n, "a statement");
    else if (sqlite3_prepare_v3(db->handle, sql.text, -1,
                                SQLITE_PREPARE_PERSISTENT, stmt, NULL))
        st = db_error(db, "writing", err);
    str_release(&sql);
    return st;
}

static enum assay_status bulk_prepare(const struct db *db, struct bulk *bulk,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (!bulk->many)
        st = bulk_prepare_rows(db, bulk, BULK_ROWS, &bulk->many, err);
    if (!st && !bulk->one)
        st = bulk_prepare_rows(db, bulk, 1, &bulk->one, err);
    return st;
}

enum assay_status bulk_insert(struct store_writer *writer, struct bulk *bulk,
                              const struct bulk_source *source, size_t first,
                              size_t end, struct error *err)
{
    enum assay_status st = bulk_prepare(&writer->db, bulk, err);
    size_t i = first;

    while (!st && i < end) {
        size_t n = end - i >= BULK_ROWS ? BULK_ROWS : 1;
        struct row row = {.db = &writer->db,
                          .err = err,
                          .stmt = n == BULK_ROWS ? bulk->many : bulk->one};
        int at = 1;

        for (size_t k = 0; k < n && !row.rc; k++, at += bulk->n_columns)
            row.rc = source->bind(row.stmt, at, source, i + k);
        st = row_write(&row);
        i += n;
    }
    return st;
}

int bulk_bind_sample(sqlite3_stmt *stmt, int at,
                     const struct bulk_source *source, size_t i)
{
    const struct sample *s = (const struct sample *)source->items + i;
    struct row row = {.stmt = stmt, .n = at - 1};

    row_int(&row, s->scope);
    row_int(&row, s->phase);
    row_int(&row, s->thread);
    row_id(&row, s->iteration);
    row_int(&row, s->start_ns);
    row_int(&row, s->duration_ns);
    row_int(&row, s->self_ns);
    row_bytes(&row, s->bytes);
    row_bytes(&row, s->peak_bytes);
    if (source->is_extended)
        row_bytes(&row, s->queued_ns ? s->queued_ns : RUN_UNKNOWN);
    return row.rc;
}
