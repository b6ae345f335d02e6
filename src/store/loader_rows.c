/* store/loader_rows.c - reads values from a file that may be wrong. */
#include "store/loader_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rows rows_open(struct loader *loader, const char *table,
                      const char *columns, struct error *err)
{
    struct rows rows = {
        .loader = loader, .err = err, .table = table, .id = INT64_MIN};
    struct str sql = {0};

    if (str_printf(&sql, "SELECT %s FROM %s NOT INDEXED", columns, table))
        rows.status = error_nomem(err, strlen(columns), "a statement");
    else if (sqlite3_prepare_v2(loader->db.handle, sql.text, -1, &rows.stmt,
                                NULL))
        rows.status = db_error(&loader->db, "reading", err);
    str_release(&sql);
    return rows;
}

/* A file made to loop returns the same rows again; ours are in order. */
bool rows_next(struct rows *rows)
{
    int64_t before = rows->id;
    int rc;

    if (rows->status)
        return false;
    rc = sqlite3_step(rows->stmt);
    if (rc == SQLITE_DONE)
        return false;
    if (rc != SQLITE_ROW) {
        rows->status = db_error(&rows->loader->db, "reading", rows->err);
        return false;
    }
    rows->id = sqlite3_column_int64(rows->stmt, 0);
    if (rows->id <= before)
        rows_refuse(rows, "it is out of order");
    return !rows->status;
}

enum assay_status rows_close(struct rows *rows)
{
    sqlite3_finalize(rows->stmt);
    rows->stmt = NULL;
    return rows->status;
}

void rows_refuse(struct rows *rows, const char *format, ...)
{
    char why[160];
    va_list args;

    if (rows->status)
        return;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    rows->status = error_set(
        rows->err, ASSAY_BAD_INPUT, "%s is damaged: table %s, row %lld: %s",
        rows->loader->db.path, rows->table, (long long)rows->id, why);
}

void rows_take(struct rows *rows, enum assay_status st)
{
    if (!st || rows->status)
        return;
    rows->status = st;
    if (st == ASSAY_BAD_INPUT)
        error_context(rows->err, "%s is damaged: table %s, row %lld",
                      rows->loader->db.path, rows->table, (long long)rows->id);
    else
        error_context(rows->err, "reading %s", rows->loader->db.path);
}

int64_t rows_int(struct rows *rows, int column, int64_t low, int64_t high)
{
    int64_t value = sqlite3_column_int64(rows->stmt, column);

    if (sqlite3_column_type(rows->stmt, column) != SQLITE_INTEGER)
        rows_refuse(rows, "%s is not a whole number",
                    sqlite3_column_name(rows->stmt, column));
    else if (value < low || value > high)
        rows_refuse(rows, "%s cannot be %lld",
                    sqlite3_column_name(rows->stmt, column), (long long)value);
    else
        return value;
    return low;
}

uint32_t rows_id(struct rows *rows, int column, size_t limit)
{
    int64_t most = limit < RUN_NONE ? (int64_t)limit - 1 : RUN_NONE - 1;

    return (uint32_t)rows_int(rows, column, 0, most);
}

static bool rows_is_null(struct rows *rows, int column)
{
    return sqlite3_column_type(rows->stmt, column) == SQLITE_NULL;
}

uint32_t rows_id_or_none(struct rows *rows, int column, size_t limit)
{
    return rows_is_null(rows, column) ? RUN_NONE : rows_id(rows, column, limit);
}

int64_t rows_bytes(struct rows *rows, int column)
{
    if (rows_is_null(rows, column))
        return RUN_UNKNOWN;
    return rows_int(rows, column, INT64_MIN + 1, INT64_MAX);
}

double rows_real(struct rows *rows, int column)
{
    int type = sqlite3_column_type(rows->stmt, column);
    double value = sqlite3_column_double(rows->stmt, column);

    if (type == SQLITE_NULL)
        return NAN;
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) {
        rows_refuse(rows, "%s is not a number",
                    sqlite3_column_name(rows->stmt, column));
        return 0;
    }
    return value;
}

const char *rows_text(struct rows *rows, int column)
{
    const char *name = sqlite3_column_name(rows->stmt, column);
    const char *text;

    if (sqlite3_column_type(rows->stmt, column) != SQLITE_TEXT) {
        rows_refuse(rows, "%s is not a text", name);
        return "";
    }
    text = (const char *)sqlite3_column_text(rows->stmt, column);
    if (!text) {
        rows->status = db_error(&rows->loader->db, "reading", rows->err);
        return "";
    }
    if (strlen(text) != (size_t)sqlite3_column_bytes(rows->stmt, column)) {
        rows_refuse(rows, "%s has a NUL in it", name);
        return "";
    }
    return text;
}

size_t rows_word(struct rows *rows, int column, const char *const *words,
                 size_t n, const char *what)
{
    const char *text = rows_text(rows, column);

    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, words[i]) == 0)
            return i;
    }
    rows_refuse(rows, "no kind of %s is called '%.40s'", what, text);
    return 0;
}

void rows_sketch(struct rows *rows, int column, uint64_t n, struct sketch *out)
{
    const char *name = sqlite3_column_name(rows->stmt, column);
    const void *blob = sqlite3_column_blob(rows->stmt, column);
    int n_bytes = sqlite3_column_bytes(rows->stmt, column);
    enum assay_status st;

    *out = (struct sketch){0};
    if (sqlite3_column_type(rows->stmt, column) != SQLITE_BLOB) {
        rows_refuse(rows, "%s is not a blob", name);
        return;
    }
    st = sketch_decode(blob, (size_t)n_bytes, out);
    if (st == ASSAY_NOMEM)
        rows_take(rows, error_nomem(rows->err, (size_t)n_bytes, "a sketch"));
    else if (st)
        rows_refuse(rows, "%s is not a sketch", name);
    else if (out->n != n)
        rows_refuse(rows, "%s and its row count different numbers of values",
                    name);
    if (rows->status)
        sketch_release(out);
}
