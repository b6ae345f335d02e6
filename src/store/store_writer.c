/* store/store_writer.c - writes a run file, one transaction at a time. */
#include "store/writer_internal.h"

static const char *const statement_texts[] = {
#define TEXT(name, sql) sql,
    STORE_STATEMENTS(TEXT)
#undef TEXT
};

struct row writer_row(struct store_writer *writer, enum statement which,
                      struct error *err)
{
    sqlite3_stmt **stmt = &writer->statements[which];
    struct row row = {.db = &writer->db, .err = err};

    if (!*stmt && sqlite3_prepare_v3(writer->db.handle, statement_texts[which],
                                     -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL))
        row.status = db_error(&writer->db, "writing", err);
    else
        row.stmt = *stmt;
    return row;
}

enum assay_status writer_cut(struct store_writer *writer, enum statement which,
                             int64_t key, struct error *err)
{
    struct row row = writer_row(writer, which, err);

    row_int(&row, key);
    return row_write(&row);
}

/* ---- transactions ----------------------------------------------------- */

static enum assay_status writer_begin(struct store_writer *writer,
                                      struct error *err)
{
    enum assay_status st;

    if (writer->is_in_transaction)
        return ASSAY_OK;
    st = db_execute(&writer->db, "BEGIN IMMEDIATE", err);
    writer->is_in_transaction = !st;
    return st;
}

static enum assay_status writer_commit(struct store_writer *writer,
                                       struct error *err)
{
    enum assay_status st = db_execute(&writer->db, "COMMIT", err);

    if (st)
        return st;
    writer->is_in_transaction = false;
    writer->is_extended_for_good = writer->is_extended;
    writer->n_committed = writer->n_appended;
    return ASSAY_OK;
}

/* The statements are prepared again, with the new number of columns. */
static void writer_set_extended(struct store_writer *writer, bool is_extended)
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
    writer_set_extended(writer, true);
    st = db_execute(&writer->db, store_extension, err);
    if (st)
        writer_set_extended(writer, false);
    return st;
}

bool sample_is_extended(const struct sample *sample)
{
    return sample->queued_ns != 0;
}

/* Undoes the transaction; the next checkpoint writes everything again. */
static void writer_roll_back(struct store_writer *writer)
{
    if (!writer->is_in_transaction)
        return;
    /* SQLite has already done so if the disk was full. */
    if (!sqlite3_get_autocommit(writer->db.handle))
        sqlite3_exec(writer->db.handle, "ROLLBACK", NULL, NULL, NULL);
    writer->is_in_transaction = false;
    if (writer->is_extended != writer->is_extended_for_good)
        writer_set_extended(writer, writer->is_extended_for_good);
    writer->n_lost += (uint64_t)(writer->n_appended - writer->n_committed);
    writer->n_appended = writer->n_committed;
    writer->is_to_rewrite = true;
    writer->n_scopes = writer->n_phases = 0;
    writer->n_iterations = writer->n_kept = writer->n_edges = 0;
    writer->n_cells = writer->n_counters = writer->n_series = 0;
    writer->kept_hash = writer->work_hash = 0;
    writer->text_hash = writer->ledger_hash = 0;
}

static enum assay_status writer_clear_tables(struct store_writer *writer,
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

/* The kept samples of the last checkpoint lie where the new ones go; the next
 * checkpoint writes them again. After a failure there may be some too. */
static enum assay_status writer_make_way(struct store_writer *writer,
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
    enum assay_status st = writer_begin(writer, err);

    if (!st)
        st = writer_make_way(writer, err);
    for (size_t i = 0; i < n && !st; i++) {
        if (sample_is_extended(&samples[i]))
            st = writer_extend(writer, err);
    }
    source.is_extended = writer->is_extended;
    if (!st)
        st = bulk_insert(writer, &writer->samples, &source, 0, n, err);
    if (st) {
        writer_roll_back(writer);
        writer->n_lost += n;
        return st;
    }
    writer->n_appended += (int64_t)n;
    return ASSAY_OK;
}

static enum assay_status writer_checkpoint(struct store_writer *writer,
                                           const struct run *run,
                                           bool is_complete, struct error *err)
{
    enum assay_status st = writer_begin(writer, err);

    if (!st && writer->is_to_rewrite)
        st = writer_clear_tables(writer, err);
    if (!st)
        st = checkpoint_write(writer, run, is_complete, err);
    if (!st)
        st = writer_commit(writer, err);
    if (st) {
        writer_roll_back(writer);
        return st;
    }
    writer->is_to_rewrite = false;
    writer->has_content = true;
    return ASSAY_OK;
}

enum assay_status store_checkpoint(struct store_writer *writer,
                                   const struct run *run, struct error *err)
{
    return writer_checkpoint(writer, run, false, err);
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

/* Once it is complete, parts of earlier attempts are of no use. */
static enum assay_status writer_write_whole(struct store_writer *writer,
                                            const struct run *run,
                                            struct error *err)
{
    enum assay_status st = writer_checkpoint(writer, run, true, err);

    if (!st)
        st = writer_settle(writer, err);
    if (!st)
        leftovers_remove(writer->final, writer->began);
    return st;
}

enum assay_status store_finish(struct store_writer *writer,
                               const struct run *run, struct error *err)
{
    enum assay_status st = writer_write_whole(writer, run, err);

    if (st)
        writer_discard(writer);
    else
        writer_free(writer);
    return st;
}

enum assay_status store_finish_or_keep(struct store_writer *writer,
                                       const struct run *run, struct error *err)
{
    enum assay_status st = writer_write_whole(writer, run, err);

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

static int64_t sample_column_or(sqlite3_stmt *stmt, int column,
                                int64_t otherwise)
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
        .iteration = (uint32_t)sample_column_or(stmt, 3, RUN_NONE),
        .start_ns = sqlite3_column_int64(stmt, 4),
        .duration_ns = sqlite3_column_int64(stmt, 5),
        .self_ns = sqlite3_column_int64(stmt, 6),
        .bytes = sample_column_or(stmt, 7, RUN_UNKNOWN),
        .peak_bytes = sample_column_or(stmt, 8, RUN_UNKNOWN),
    };

    if (is_extended)
        sample.queued_ns = sample_column_or(stmt, 9, 0);
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
    row = writer_row(writer, GET_SAMPLES, err);
    if (!row.stmt)
        return row.status;
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

/* Without a journal: an unfinished file is thrown away. */
static enum assay_status writer_save(const struct run *run, const char *path,
                                     const char *final,
                                     const struct timespec *began,
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
    return writer_save(run, path, NULL, NULL, err);
}

enum assay_status store_replace(struct store_writer *writer,
                                const struct run *run, struct error *err)
{
    enum assay_status st =
        writer_save(run, writer->path, writer->final, &writer->began, err);

    writer_discard(writer);
    return st;
}
