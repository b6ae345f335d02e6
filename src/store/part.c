/* store/part.c - the file of a run while it is being written: its name
 * ("run.assay.1234-abcdef.part", with the process id and random letters), how
 * it is made, and how it gets its final name.
 *
 * While a program is measured the file has a rollback journal and is never
 * synced: a killed program leaves the last checkpoint, because the kernel still
 * has everything that was written. Only a finished file is synced. */
#include "store/writer_internal.h"

#include "base/claim.h"
#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names --------------------------------------------------------------- */

static void part_suffix_make(char suffix[PART_SUFFIX])
{
    char letters[PART_LETTERS + 1];

    file_random_letters(letters, PART_LETTERS);
    snprintf(suffix, PART_SUFFIX, ".%ld-%s" STORE_PART_SUFFIX, (long)getpid(),
             letters);
}

static bool part_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
}

bool part_suffix_reads(const char *suffix, pid_t *pid)
{
    char *end;
    long number;

    if (suffix[0] != '.' || suffix[1] < '1' || suffix[1] > '9')
        return false;
    errno = 0;
    number = strtol(suffix + 1, &end, 10);
    if (errno || number > INT32_MAX || *end++ != '-')
        return false;
    for (int i = 0; i < PART_LETTERS; i++) {
        if (!part_is_letter(*end++))
            return false;
    }
    *pid = (pid_t)number;
    return strcmp(end, STORE_PART_SUFFIX) == 0;
}

static void part_cut_ending(const char *path, size_t *n, const char *ending)
{
    if (*n > strlen(ending) && str_ends_with_n(path, *n, ending))
        *n -= strlen(ending);
}

size_t store_stem(const char *path)
{
    size_t n = strlen(path), n_name = n;
    pid_t pid;

    /* The suffix of a part has two dots, one before the process id. */
    for (size_t dots = 0; n_name > 0 && path[n_name - 1] != '/';) {
        dots += path[--n_name] == '.';
        if (dots == 2)
            break;
    }
    if (part_suffix_reads(path + n_name, &pid))
        n = n_name;
    else
        part_cut_ending(path, &n, STORE_PART_SUFFIX);
    part_cut_ending(path, &n, STORE_SUFFIX);
    return n;
}

/* ---- opening ---------------------------------------------------------- */

static enum assay_status part_name_with(const char *name, const char *suffix,
                                        char **out, struct error *err)
{
    struct str text = {0};

    if (str_printf(&text, "%s%s", name, suffix)) {
        str_release(&text);
        return error_nomem(err, strlen(name), "a file name");
    }
    *out = text.text;
    return ASSAY_OK;
}

static enum assay_status part_absolute_path(const char *path, char **out,
                                            struct error *err)
{
    char folder[PATH_MAX];
    enum assay_status st;
    char *prefix = NULL;

    if (path[0] == '/')
        return part_name_with(path, "", out, err);
    if (!getcwd(folder, sizeof folder))
        return error_errno(err, errno, "cannot write %s", path);
    st = part_name_with(folder, "/", &prefix, err);
    if (st)
        return st;
    st = part_name_with(prefix, path, out, err);
    mem_free(prefix);
    return st;
}

static enum assay_status part_name_files(struct store_writer *writer,
                                         const char *path, const char *final,
                                         struct error *err)
{
    enum assay_status st;

    st = part_name_with(path, "", &writer->path, err);
    if (st)
        return st;
    writer->db.path = writer->path;
    return part_absolute_path(final ? final : path, &writer->final, err);
}

static enum assay_status part_check_final(const struct store_writer *writer,
                                          struct error *err)
{
    size_t n = strlen(writer->path);
    struct stat info;

    if (n == 0 || writer->path[n - 1] == '/')
        return error_set(err, ASSAY_IO,
                         "cannot write '%s': it does not name a file",
                         writer->path);
    if (stat(writer->final, &info) == 0 && !S_ISREG(info.st_mode))
        return error_set(err, ASSAY_IO,
                         "%s is not a regular file; name another output",
                         writer->path);
    return ASSAY_OK;
}

/* A file that only this writer uses, even if others write to the same name at
 * the same time. It is claimed as long as the writer lives: a part that nobody
 * claims was left by a dead process. */
static enum assay_status part_create(struct store_writer *writer,
                                     struct error *err)
{
    enum { most_tries = 100 };
    enum assay_status st = part_check_final(writer, err);
    struct stat info;
    pid_t holder;

    for (int i = 0; !st && writer->claim < 0 && i < most_tries; i++) {
        mem_free(writer->part);
        writer->part = NULL;
        part_suffix_make(writer->suffix);
        st = part_name_with(writer->final, writer->suffix, &writer->part, err);
        if (!st)
            writer->claim =
                open(writer->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (!st && writer->claim < 0 && errno != EEXIST)
            break;
    }
    if (st)
        return st;
    if (writer->claim < 0 || fstat(writer->claim, &info))
        return file_cannot_write(err, errno, writer->path);
    (void)claim_take(writer->claim, &holder);
    writer->began = info.st_mtim;
    return ASSAY_OK;
}

static enum assay_status part_open_database(struct store_writer *writer,
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
                   "%s %s INSERT INTO meta VALUES('complete', 0),"
                   "('writer', 'assay %s'); COMMIT;",
                   journal_mode, STORE_CACHE_KIB, STORE_APPLICATION_ID,
                   STORE_PLAIN_VERSION, store_tables, store_views,
                   ASSAY_VERSION))
        st = error_nomem(err, strlen(store_tables), "a statement");
    else
        st = db_execute(db, sql.text, err);
    str_release(&sql);
    return st;
}

/* Closing any descriptor of a file ends SQLite's locks on it, so the claim is
 * closed last. */
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

void writer_free(struct store_writer *writer)
{
    writer_close(writer);
    if (writer->claim >= 0)
        close(writer->claim);
    mem_free(writer->path);
    mem_free(writer->final);
    mem_free(writer->part);
    mem_free(writer->cells);
    mem_free(writer->counters);
    mem_free(writer->series);
    mem_free(writer);
}

enum assay_status writer_open(const char *path, const char *final,
                              const char *journal_mode,
                              struct store_writer **out, struct error *err)
{
    struct store_writer *writer = mem_zalloc(sizeof *writer);
    enum assay_status st;

    *out = NULL;
    if (!writer)
        return error_nomem(err, sizeof *writer, "a run file");
    writer->claim = -1;
    writer->samples =
        (struct bulk){.table = "sample", .n_columns = SAMPLE_COLUMNS};
    writer->points = (struct bulk){.table = "point", .n_columns = 5};
    st = part_name_files(writer, path, final, err);
    if (!st)
        st = part_create(writer, err);
    if (!st)
        st = part_open_database(writer, journal_mode, err);
    if (st) {
        writer_discard(writer);
        return st;
    }
    *out = writer;
    return ASSAY_OK;
}

void writer_discard(struct store_writer *writer)
{
    writer_close(writer);
    if (writer->claim >= 0) /* otherwise it is not ours */
        unlink(writer->part);
    writer_free(writer);
}

/* ---- finishing -------------------------------------------------------- */

static enum assay_status part_sync_path(const struct store_writer *writer,
                                        const char *path, int flags,
                                        struct error *err)
{
    enum assay_status st = ASSAY_OK;
    int fd = open(path, flags | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, errno, "writing %s", writer->path);
    /* EINVAL: the file system cannot sync. */
    if (fsync(fd) && errno != EINVAL)
        st = error_errno(err, errno, "writing %s", writer->path);
    close(fd);
    return st;
}

static enum assay_status part_sync_folder(struct store_writer *writer,
                                          struct error *err)
{
    char *slash = strrchr(writer->final, '/');
    enum assay_status st;

    *slash = '\0';
    st = part_sync_path(writer, writer->final[0] ? writer->final : "/",
                        O_RDONLY | O_DIRECTORY, err);
    *slash = '/';
    return st;
}

enum assay_status writer_settle(struct store_writer *writer, struct error *err)
{
    enum assay_status st;

    writer_close(writer);
    st = part_sync_path(writer, writer->part, O_RDWR, err);
    if (!st && rename(writer->part, writer->final))
        st = error_errno(err, errno, "cannot write %s", writer->path);
    return st ? st : part_sync_folder(writer, err);
}
