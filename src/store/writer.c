/* store/writer.c - a run file being written, from its first byte to its name.
 *
 * While a program is measured the file has a rollback journal and is never
 * synced: a program that is killed leaves the last checkpoint, because the
 * kernel still has all that was written. Only a finished file is synced. */
#include "store/writer_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const statement_texts[] = {
#define TEXT(name, sql) sql,
    STORE_STATEMENTS(TEXT)
#undef TEXT
};

static enum assay_status execute(const struct db *db, const char *sql,
                                 struct error *err)
{
    if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL))
        return db_error(db, "writing", err);
    return ASSAY_OK;
}

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

enum assay_status writer_begin(struct store_writer *writer, struct error *err)
{
    enum assay_status st;

    if (writer->is_in_transaction)
        return ASSAY_OK;
    st = execute(&writer->db, "BEGIN IMMEDIATE", err);
    writer->is_in_transaction = !st;
    return st;
}

enum assay_status writer_commit(struct store_writer *writer, struct error *err)
{
    enum assay_status st = execute(&writer->db, "COMMIT", err);

    if (st)
        return st;
    writer->is_in_transaction = false;
    writer->n_committed = writer->n_appended;
    return ASSAY_OK;
}

void writer_roll_back(struct store_writer *writer)
{
    if (!writer->is_in_transaction)
        return;
    /* SQLite has done it already where the disk was full. */
    if (!sqlite3_get_autocommit(writer->db.handle))
        sqlite3_exec(writer->db.handle, "ROLLBACK", NULL, NULL, NULL);
    writer->is_in_transaction = false;
    writer->n_lost += (uint64_t)(writer->n_appended - writer->n_committed);
    writer->n_appended = writer->n_committed;
    writer->is_to_rewrite = true;
    writer->n_scopes = writer->n_phases = 0;
    writer->n_iterations = writer->n_kept = 0;
    writer->n_cells = writer->n_counters = 0;
    writer->kept_hash = 0;
}

static enum assay_status clear_tables(struct store_writer *writer,
                                      struct error *err)
{
    static const char clear[] =
        "DELETE FROM fact; DELETE FROM scope; DELETE FROM phase;"
        "DELETE FROM thread; DELETE FROM iteration; DELETE FROM stat;"
        "DELETE FROM point; DELETE FROM counter; DELETE FROM counter_point;";
    enum assay_status st = execute(&writer->db, clear, err);

    return st ? st : writer_cut(writer, CUT_SAMPLES, writer->n_appended, err);
}

/* ---- opening ---------------------------------------------------------- */

static enum assay_status absolute_path(const char *path, char **out,
                                       struct error *err)
{
    struct str text = {0};
    enum assay_status st = ASSAY_OK;

    if (path[0] != '/') {
        char folder[PATH_MAX];

        if (!getcwd(folder, sizeof folder))
            return error_errno(err, errno, "cannot write %s", path);
        st = str_printf(&text, "%s/", folder);
    }
    if (!st)
        st = str_append(&text, path);
    if (st) {
        str_release(&text);
        return error_nomem(err, strlen(path), "a file name");
    }
    *out = text.text;
    return ASSAY_OK;
}

static enum assay_status name_files(struct store_writer *writer,
                                    const char *path, const char *suffix,
                                    struct error *err)
{
    struct str part = {0};
    enum assay_status st;

    writer->path = mem_strdup(path);
    if (!writer->path)
        return error_nomem(err, strlen(path), "a file name");
    writer->db.path = writer->path;
    st = absolute_path(path, &writer->final, err);
    if (st)
        return st;
    if (str_printf(&part, "%s%s", writer->final, suffix)) {
        str_release(&part);
        return error_nomem(err, strlen(path), "a file name");
    }
    writer->part = part.text;
    return ASSAY_OK;
}

/* Removes a file of ours and its journal; a journal that outlived its file
 * would be taken for the next one's. */
static void remove_file(const char *path)
{
    struct str journal = {0};

    unlink(path);
    if (!str_printf(&journal, "%s-journal", path))
        unlink(journal.text);
    str_release(&journal);
}

static enum assay_status create_part(struct store_writer *writer,
                                     struct error *err)
{
    size_t n = strlen(writer->path);
    struct stat info;
    int fd;

    if (n == 0 || writer->path[n - 1] == '/')
        return error_set(err, ASSAY_IO,
                         "cannot write '%s': it does not name a file",
                         writer->path);
    if (stat(writer->final, &info) == 0 && !S_ISREG(info.st_mode))
        return error_set(err, ASSAY_IO,
                         "%s is not a regular file; name another output",
                         writer->path);
    remove_file(writer->part);
    fd = open(writer->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return error_errno(err, errno, "cannot write %s", writer->path);
    close(fd);
    return ASSAY_OK;
}

static enum assay_status open_database(struct store_writer *writer,
                                       const char *journal_mode,
                                       struct error *err)
{
    struct db *db = &writer->db;
    struct str sql = {0};
    enum assay_status st;

    if (sqlite3_open_v2(writer->part, &db->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL))
        return db_error(db, "writing", err);
    sqlite3_busy_timeout(db->handle, STORE_BUSY_TIMEOUT_MS);
    sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, STORE_MAX_TEXT);
    if (str_printf(&sql,
                   "PRAGMA page_size=4096; PRAGMA auto_vacuum=NONE;"
                   "PRAGMA journal_mode=%s; PRAGMA synchronous=OFF;"
                   "PRAGMA secure_delete=OFF; PRAGMA cache_size=-%d;"
                   "PRAGMA temp_store=MEMORY; BEGIN;"
                   "PRAGMA application_id=%d; PRAGMA user_version=%d;"
                   "%s INSERT INTO meta VALUES('complete', 0),"
                   "('writer', 'assay %s'); COMMIT;",
                   journal_mode, STORE_CACHE_KIB, STORE_APPLICATION_ID,
                   STORE_VERSION, store_schema, ASSAY_VERSION))
        st = error_nomem(err, strlen(store_schema), "a statement");
    else
        st = execute(db, sql.text, err);
    str_release(&sql);
    return st;
}

static void writer_close(struct store_writer *writer)
{
    for (size_t i = 0; i < N_STATEMENTS; i++) {
        sqlite3_finalize(writer->statements[i]);
        writer->statements[i] = NULL;
    }
    bulk_release(&writer->samples);
    bulk_release(&writer->points);
    sqlite3_close(writer->db.handle);
    writer->db.handle = NULL;
}

static void writer_free(struct store_writer *writer)
{
    writer_close(writer);
    mem_free(writer->path);
    mem_free(writer->final);
    mem_free(writer->part);
    mem_free(writer->cells);
    mem_free(writer->counters);
    mem_free(writer);
}

static enum assay_status writer_open(const char *path, const char *suffix,
                                     const char *journal_mode,
                                     struct store_writer **out,
                                     struct error *err)
{
    struct store_writer *writer = mem_zalloc(sizeof *writer);
    enum assay_status st;

    *out = NULL;
    if (!writer)
        return error_nomem(err, sizeof *writer, "a run file");
    writer->samples = (struct bulk){.table = "sample", .n_columns = 9};
    writer->points = (struct bulk){.table = "point", .n_columns = 5};
    st = name_files(writer, path, suffix, err);
    if (!st)
        st = create_part(writer, err);
    if (st) {
        writer_free(writer);
        return st;
    }
    st = open_database(writer, journal_mode, err);
    if (st) {
        store_abandon(writer);
        return st;
    }
    *out = writer;
    return ASSAY_OK;
}

enum assay_status store_open(const char *path, struct store_writer **out,
                             struct error *err)
{
    return writer_open(path, STORE_PART_SUFFIX, "DELETE", out, err);
}

void store_abandon(struct store_writer *writer)
{
    if (!writer)
        return;
    writer_close(writer);
    remove_file(writer->part);
    writer_free(writer);
}

/* ---- writing ---------------------------------------------------------- */

/* The kept samples of the last checkpoint lie where the new ones go; they
 * come back with the next. */
static enum assay_status make_way(struct store_writer *writer,
                                  struct error *err)
{
    if (writer->n_kept == 0)
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
        st = make_way(writer, err);
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

static enum assay_status checkpoint(struct store_writer *writer,
                                    const struct run *run, bool is_complete,
                                    struct error *err)
{
    enum assay_status st = writer_begin(writer, err);

    if (!st && writer->is_to_rewrite)
        st = clear_tables(writer, err);
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
    return checkpoint(writer, run, false, err);
}

/* ---- finishing -------------------------------------------------------- */

static enum assay_status sync_path(const struct store_writer *writer,
                                   const char *path, int flags,
                                   struct error *err)
{
    enum assay_status st = ASSAY_OK;
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, errno, "writing %s", writer->path);
    /* EINVAL: a file system that has no notion of it. */
    if (fsync(fd) && errno != EINVAL)
        st = error_errno(err, errno, "writing %s", writer->path);
    close(fd);
    return st;
}

static enum assay_status sync_folder(struct store_writer *writer,
                                     struct error *err)
{
    char *slash = strrchr(writer->final, '/');
    enum assay_status st;

    *slash = '\0';
    st = sync_path(writer, writer->final[0] ? writer->final : "/",
                   O_RDONLY | O_DIRECTORY, err);
    *slash = '/';
    return st;
}

/* The file as it is gets its name. */
static enum assay_status settle(struct store_writer *writer, struct error *err)
{
    enum assay_status st;

    writer_close(writer);
    st = sync_path(writer, writer->part, O_RDWR, err);
    if (!st && rename(writer->part, writer->final))
        st = error_errno(err, errno, "cannot write %s", writer->path);
    return st ? st : sync_folder(writer, err);
}

enum assay_status store_finish(struct store_writer *writer,
                               const struct run *run, struct error *err)
{
    enum assay_status st = checkpoint(writer, run, true, err);

    if (!st)
        st = settle(writer, err);
    if (st && !writer->has_content)
        store_abandon(writer);
    else
        writer_free(writer);
    return st;
}

enum assay_status store_save(const struct run *run, const char *path,
                             struct error *err)
{
    struct store_writer *writer;
    enum assay_status st;
    char suffix[32];

    snprintf(suffix, sizeof suffix, ".tmp-%ld", (long)getpid());
    st = writer_open(path, suffix, "OFF", &writer, err);
    if (st)
        return st;
    st = checkpoint(writer, run, true, err);
    if (!st)
        st = settle(writer, err);
    if (st)
        store_abandon(writer);
    else
        writer_free(writer);
    return st;
}
