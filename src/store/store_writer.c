/* store/store_writer.c - what goes into a run file, a transaction at a time. */
#include "store/writer_internal.h"

static const char *const statement_texts[] = {
#define TEXT(name, sql) sql,
    STORE_STATEMENTS(TEXT)
#undef TEXT
};

enum assay_status writer_put(struct store_writer *writer, enum statement which,
                             struct row *row, struct error *err)
{
    sqlite3_stmt **stmt = &writer->statements[which];

    if (!*stmt && sqlite3_prepare_v3(writer->db.handle, statement_texts[which],
                                     -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL))
        return db_error(&writer->db, "writing", err);
    *row = row_start(*stmt);
    return ASSAY_OK;
}

enum assay_status writer_cut(struct store_writer *writer, enum statement which,
                             int64_t key, struct error *err)
{
    enum assay_status st;
    struct row row;

    st = writer_put(writer, which, &row, err);
    if (st)
        return st;
    row_int(&row, key);
    return row_write(&row, &writer->db, err);
}

/* ---- transactions ----------------------------------------------------- */

static enum assay_status begin(struct store_writer *writer, struct error *err)
{
    enum assay_status st;

    if (writer->is_in_transaction)
        return ASSAY_OK;
    st = db_execute(&writer->db, "BEGIN IMMEDIATE", err);
    writer->is_in_transaction = !st;
    return st;
}

static enum assay_status commit(struct store_writer *writer, struct error *err)
{
    enum assay_status st = db_execute(&writer->db, "COMMIT", err);

    if (st)
        return st;
    writer->is_in_transaction = false;
    writer->is_extended_for_good = writer->is_extended;
    writer->n_committed = writer->n_appended;
    return ASSAY_OK;
}

/* The table has as many columns as its statements, which are made again. */
static void set_extended(struct store_writer *writer, bool is_extended)
{
    bulk_release(&writer->samples);
    writer->samples.n_columns =
        is_extended ? SAMPLE_COLUMNS_EXTENDED : SAMPLE_COLUMNS;
    writer->is_extended = is_extended;
}

enum assay_status writer_extend(struct store_writer *writer, struct error *err)
{
    enum assay_status st;

    if (writer->is_extended)
        return ASSAY_OK;
    set_extended(writer, true);
    st = db_execute(&writer->db, store_extension, err);
    if (st)
        set_extended(writer, false);
    return st;
}

bool sample_is_extended(const struct sample *sample)
{
    return sample->queued_ns != 0;
}

/* Undoes what was begun; the next checkpoint writes everything again. */
static void roll_back(struct store_writer *writer)
{
    if (!writer->is_in_transaction)
        return;
    /* SQLite has done it already where the disk was full. */
    if (!sqlite3_get_autocommit(writer->db.handle))
        sqlite3_exec(writer->db.handle, "ROLLBACK", NULL, NULL, NULL);
    writer->is_in_transaction = false;
    if (writer->is_extended != writer->is_extended_for_good)
        set_extended(writer, writer->is_extended_for_good);
    writer->n_lost += (uint64_t)(writer->n_appended - writer->n_committed);
    writer->n_appended = writer->n_committed;
    writer->is_to_rewrite = true;
    writer->n_scopes = writer->n_phases = 0;
    writer->n_iterations = writer->n_kept = 0;
    writer->n_cells = writer->n_counters = writer->n_series = 0;
    writer->kept_hash = writer->work_hash = 0;
    writer->text_hash = writer->ledger_hash = 0;
}

static enum assay_status clear_tables(struct store_writer *writer,
                                      struct error *err)
{
    static const char clear[] =
        "DELETE FROM fact; DELETE FROM scope; DELETE FROM phase;"
        "DELETE FROM thread; DELETE FROM iteration; DELETE FROM stat;"
        "DELETE FROM point; DELETE FROM counter; DELETE FROM counter_point;"
        "DELETE FROM work; DELETE FROM series; DELETE FROM series_label;"
        "DELETE FROM series_point; DELETE FROM ledger;";
    enum assay_status st = db_execute(&writer->db, clear, err);

    if (!st && writer->is_extended)
        st = db_execute(&writer->db,
                        "DELETE FROM scope_text; DELETE FROM memory_space;",
                        err);
    return st ? st : writer_cut(writer, CUT_SAMPLES, writer->n_appended, err);
}

/* ---- writing ---------------------------------------------------------- */

/* The kept samples of the last checkpoint lie where the new ones go; they
 * come back with the next. After a failure it is not known whether any do. */
static enum assay_status make_way(struct store_writer *writer,
                                  struct error *err)
{
    if (writer->n_kept == 0 && !writer->is_to_rewrite)
        return ASSAY_OK;
    writer->n_kept = 0;
    writer->kept_hash = 0;
    return writer_cut(writer, CUT_SAMPLES, writer->n_appended, err);
}

enum assay_status store_append(struct store_writer *writer,
                               const struct sample *samples, size_t n,
                               struct error *err)
{
    struct bulk_source source = {.items = samples, .bind = bulk_bind_sample};
    enum assay_status st = begin(writer, err);

    if (!st)
        st = make_way(writer, err);
    for (size_t i = 0; i < n && !st; i++) {
        if (sample_is_extended(&samples[i]))
            st = writer_extend(writer, err);
    }
    source.is_extended = writer->is_extended;
    if (!st)
        st = bulk_insert(writer, &writer->samples, &source, 0, n, err);
    if (st) {
        roll_back(writer);
        writer->n_lost += n;
        return st;
    }
    writer->n_appended += (int64_t)n;
    return ASSAY_OK;
}

static enum assay_status checkpoint(struct store_writer *writer,
                                    const struct run *run, bool is_complete,
                                    struct error *err)
{
    enum assay_status st = begin(writer, err);

    if (!st && writer->is_to_rewrite)
        st = clear_tables(writer, err);
    if (!st)
        st = checkpoint_write(writer, run, is_complete, err);
    if (!st)
        st = commit(writer, err);
    if (st) {
        roll_back(writer);
        return st;
    }
    writer->is_to_rewrite = false;
    writer->has_content = true;
    return ASSAY_OK;
}

enum assay_status store_checkpoint(struct store_writer *writer,
                                   const struct run *run, struct error *err)
{
    return checkpoint(writer, run, false, err);
}

/* ---- the whole life ---------------------------------------------------- */

enum assay_status store_open(const char *path, struct store_writer **out,
                             struct error *err)
{
    return writer_open(path, NULL, "DELETE", out, err);
}

void store_abandon(struct store_writer *writer)
{
    if (writer)
        writer_discard(writer);
}

const char *store_part(const struct store_writer *writer)
{
    return writer->part;
}

/* Finished under its name: what was left of earlier tries is of no use. */
static enum assay_status write_whole(struct store_writer *writer,
                                     const struct run *run, struct error *err)
{
    enum assay_status st = checkpoint(writer, run, true, err);

    if (!st)
        st = writer_settle(writer, err);
    if (!st)
        leftovers_remove(writer->final, writer->began);
    return st;
}

enum assay_status store_finish(struct store_writer *writer,
                               const struct run *run, struct error *err)
{
    enum assay_status st = write_whole(writer, run, err);

    if (st)
        writer_discard(writer);
    else
        writer_free(writer);
    return st;
}

enum assay_status store_finish_or_keep(struct store_writer *writer,
                                       const struct run *run, struct error *err)
{
    enum assay_status st = write_whole(writer, run, err);

    if (st && !writer->has_content) {
        writer_discard(writer);
        return st;
    }
    if (st)
        error_context(err, "the run so far is in %s%s", writer->path,
                      writer->suffix);
    writer_free(writer);
    return st;
}

static int64_t column_or(sqlite3_stmt *stmt, int column, int64_t otherwise)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL
               ? otherwise
               : sqlite3_column_int64(stmt, column);
}

/* The row that bulk_bind_sample() wrote. */
static struct sample sample_of_row(sqlite3_stmt *stmt, bool is_extended)
{
    struct sample sample = {
        .scope = (uint32_t)sqlite3_column_int64(stmt, 0),
        .phase = (uint32_t)sqlite3_column_int64(stmt, 1),
        .thread = (uint32_t)sqlite3_column_int64(stmt, 2),
        .iteration = (uint32_t)column_or(stmt, 3, RUN_NONE),
        .start_ns = sqlite3_column_int64(stmt, 4),
        .duration_ns = sqlite3_column_int64(stmt, 5),
        .self_ns = sqlite3_column_int64(stmt, 6),
        .bytes = column_or(stmt, 7, RUN_UNKNOWN),
        .peak_bytes = column_or(stmt, 8, RUN_UNKNOWN),
    };

    if (is_extended)
        sample.queued_ns = column_or(stmt, 9, 0);
    return sample;
}

enum assay_status store_complete(struct store_writer *writer, struct run *run,
                                 struct error *err)
{
    enum assay_status st = ASSAY_OK;
    struct row row;
    int rc = SQLITE_DONE;

    run_health(run)->lost_spans += writer->n_lost;
    if (writer->n_appended == 0)
        return ASSAY_OK;
    st = writer_put(writer, GET_SAMPLES, &row, err);
    if (st)
        return st;
    row_int(&row, writer->n_appended);
    while (!st && (rc = sqlite3_step(row.stmt)) == SQLITE_ROW) {
        struct sample sample = sample_of_row(row.stmt, writer->is_extended);

        st = run_keep(run, &sample, err);
    }
    if (!st && rc != SQLITE_DONE)
        st = db_error(&writer->db, "reading", err);
    sqlite3_reset(row.stmt);
    return st;
}

/* Without a journal: what is not finished is thrown away. */
static enum assay_status save(const struct run *run, const char *path,
                              const char *final, const struct timespec *began,
                              struct error *err)
{
    struct store_writer *writer;
    enum assay_status st = writer_open(path, final, "OFF", &writer, err);

    if (st)
        return st;
    if (began)
        writer->began = *began;
    return store_finish(writer, run, err);
}

enum assay_status store_save(const struct run *run, const char *path,
                             struct error *err)
{
    return save(run, path, NULL, NULL, err);
}

enum assay_status store_replace(struct store_writer *writer,
                                const struct run *run, struct error *err)
{
    enum assay_status st =
        save(run, writer->path, writer->final, &writer->began, err);

    writer_discard(writer);
    return st;
}
