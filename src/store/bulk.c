/* store/bulk.c - many rows a statement. */
#include "store/writer_internal.h"

void bulk_release(struct bulk *bulk)
{
    sqlite3_finalize(bulk->many);
    sqlite3_finalize(bulk->one);
    bulk->many = bulk->one = NULL;
}

static enum assay_status prepare_rows(const struct db *db,
                                      const struct bulk *bulk, int n_rows,
                                      sqlite3_stmt **stmt, struct error *err)
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

static enum assay_status prepare_bulk(const struct db *db, struct bulk *bulk,
                                      struct error *err)
{
    enum assay_status st = ASSAY_OK;

    if (!bulk->many)
        st = prepare_rows(db, bulk, BULK_ROWS, &bulk->many, err);
    if (!st && !bulk->one)
        st = prepare_rows(db, bulk, 1, &bulk->one, err);
    return st;
}

enum assay_status bulk_insert(struct store_writer *writer, struct bulk *bulk,
                              const struct bulk_source *source, size_t first,
                              size_t end, struct error *err)
{
    enum assay_status st = prepare_bulk(&writer->db, bulk, err);
    size_t i = first;

    while (!st && i < end) {
        size_t n = end - i >= BULK_ROWS ? BULK_ROWS : 1;
        sqlite3_stmt *stmt = n == BULK_ROWS ? bulk->many : bulk->one;
        struct row row = row_start(stmt);
        int at = 1;

        for (size_t k = 0; k < n && !row.rc; k++, at += bulk->n_columns)
            row.rc = source->bind(stmt, at, source, i + k);
        st = row_write(&row, &writer->db, err);
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
