/* predict/campaign_log.c - see campaign.h: tests in a SQLite file. */
#include "predict/campaign.h"

#include "base/cache.h"
#include "base/claim.h"
#include "base/mem.h"
#include "store/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { schema_version = 5, application_id = 0x41736379 /* "Ascy" */ };

struct campaign_log {
    struct database *database;
    sqlite3 *db;      /* its handle */
    int version;      /* of its contents */
    int claim;        /* -1: read only */
    const char *path; /* stored after the struct */
};

#define TEST_COLUMNS                                                           \
    "(id INTEGER PRIMARY KEY,"                                                 \
    " network TEXT NOT NULL, level INTEGER NOT NULL, repeat INTEGER NOT NULL," \
    " batch INTEGER NOT NULL, stage TEXT NOT NULL, variable TEXT NOT NULL,"    \
    " file TEXT NOT NULL, passed INTEGER NOT NULL, reason TEXT NOT NULL,"      \
    " latency_ms REAL, alloc_mb REAL, reserved_mb REAL, used_mb REAL,"         \
    " avail_mb REAL, free_mb REAL, capacity_mb REAL, seconds REAL,"            \
    " steps INTEGER, finished TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,"        \
    " rounds INTEGER NOT NULL DEFAULT 1, lane REAL,"                           \
    " machine TEXT NOT NULL DEFAULT '',"                                       \
    " framework TEXT NOT NULL DEFAULT 'assay', multiprocessors REAL,"          \
    " UNIQUE (network, level, repeat, batch, stage, variable, framework))"

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS test " TEST_COLUMNS ";"
    "CREATE TABLE IF NOT EXISTS step (test INTEGER NOT NULL,"
    " number INTEGER NOT NULL, ms REAL NOT NULL, PRIMARY KEY (test, number));"
    "PRAGMA user_version = 5;"
    "PRAGMA application_id = 1098081145;"
    "COMMIT;";

static enum assay_status log_fail(const struct campaign_log *log,
                                  const char *what, struct error *err)
{
    int code = sqlite3_errcode(log->db);
    enum assay_status st = code == SQLITE_NOMEM    ? ASSAY_NOMEM
                           : code == SQLITE_NOTADB ? ASSAY_BAD_INPUT
                                                   : ASSAY_IO;

    return error_set(err, st, "%s %s: %s", what, log->path,
                     sqlite3_errmsg(log->db));
}

/* Logs of version 1 have a single round, those of version 2 do not say what
 * they were measured on, and those of version 3 are all of this program's
 * engine: a test was what it is without the framework. Those of version 4 do
 * not know GPUs. */
#define COPIED_COLUMNS                                                         \
    "id, network, level, repeat, batch, stage, variable, file, passed,"        \
    " reason, latency_ms, alloc_mb, reserved_mb, used_mb, avail_mb, free_mb,"  \
    " capacity_mb, seconds, steps, finished"
#define ADD_FRAMEWORK(newer)                                                   \
    "BEGIN IMMEDIATE;"                                                         \
    "ALTER TABLE test RENAME TO old_test;"                                     \
    "CREATE TABLE test " TEST_COLUMNS ";"                                      \
    "INSERT INTO test (" COPIED_COLUMNS                                        \
    ", rounds, lane, machine) SELECT " COPIED_COLUMNS ", " newer               \
    " FROM old_test;"                                                          \
    "DROP TABLE old_test;"                                                     \
    "PRAGMA user_version = 5;"                                                 \
    "COMMIT;"

static const char *const renewals[] = {
    [1] = ADD_FRAMEWORK("1, NULL, ''"),
    [2] = ADD_FRAMEWORK("rounds, lane, ''"),
    [3] = ADD_FRAMEWORK("rounds, lane, machine"),
    [4] = "BEGIN IMMEDIATE;"
          "ALTER TABLE test ADD COLUMN multiprocessors REAL;"
          "PRAGMA user_version = 5;"
          "COMMIT;",
};

static enum assay_status log_check_version(struct campaign_log *log,
                                           struct error *err)
{
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;

    if (sqlite3_prepare_v2(log->db, "PRAGMA user_version", -1, &row, NULL) ||
        sqlite3_step(row) != SQLITE_ROW)
        st = log_fail(log, "opening the log", err);
    else
        log->version = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    if (!st && log->version > schema_version)
        st = error_set(err, ASSAY_UNSUPPORTED,
                       "the log %s has version %d, and this program supports "
                       "up to %d; use a newer program, or another log_dir",
                       log->path, log->version, schema_version);
    return st;
}

/* ---- opening ------------------------------------------------------------ */

void campaign_log_close(struct campaign_log *log)
{
    if (!log)
        return;
    database_close(log->database);
    if (log->claim >= 0)
        close(log->claim);
    mem_free(log);
}

static enum assay_status new_log(const char *path, struct campaign_log **out,
                                 struct error *err)
{
    size_t n = strlen(path) + 1;
    struct campaign_log *log = mem_zalloc(sizeof *log + n);

    *out = log;
    if (!log)
        return error_nomem(err, sizeof *log, "a log");
    memcpy(log + 1, path, n);
    log->path = (const char *)(log + 1);
    log->claim = -1;
    return ASSAY_OK;
}

/* Never touches another program's database. */
static enum assay_status check_owner(const char *path, bool *is_there,
                                     struct error *err)
{
    int id;
    enum assay_status st = database_application(path, is_there, &id, err);

    if (!st && *is_there && id != application_id)
        st = error_set(err, ASSAY_BAD_INPUT,
                       "%s is not the log of a campaign: it is a SQLite "
                       "database of another program",
                       path);
    return st;
}

/* One campaign at a time: two would disturb each other's measurements, and run
 * each test twice. */
static enum assay_status claim_log(struct campaign_log *log, struct error *err)
{
    pid_t holder;

    log->claim =
        open(log->path, O_RDWR | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    if (log->claim < 0)
        return error_errno(err, errno, "opening the log %s", log->path);
    if (claim_take(log->claim, &holder))
        return ASSAY_OK;
    return error_set(
        err, ASSAY_IO,
        "%s is in use by another campaign (pid %ld); wait until it ends, or "
        "use another log_dir; --shard K/N measures parts in parallel",
        log->path, (long)holder);
}

static enum assay_status log_connect(struct campaign_log *log,
                                     enum database_use use, struct error *err)
{
    enum { patience_ms = 10000 };
    enum assay_status st = database_open(log->path, use, &log->database, err);

    if (st)
        return st;
    log->db = database_handle(log->database);
    sqlite3_busy_timeout(log->db, patience_ms);
    return log_check_version(log, err);
}

enum assay_status campaign_log_open(const char *path, struct campaign_log **out,
                                    struct error *err)
{
    struct campaign_log *log = NULL;
    bool is_there;
    enum assay_status st = check_owner(path, &is_there, err);

    *out = NULL;
    if (!st)
        st = cache_make_folders(path, err);
    if (!st)
        st = new_log(path, &log, err);
    if (!st)
        st = claim_log(log, err);
    if (!st)
        st = log_connect(log, DATABASE_WRITE, err);
    if (!st &&
        ((log->version >= 1 && log->version < schema_version &&
          sqlite3_exec(log->db, renewals[log->version], NULL, NULL, NULL)) ||
         sqlite3_exec(log->db, schema, NULL, NULL, NULL)))
        st = log_fail(log, "opening the log", err);
    if (st) {
        campaign_log_close(log);
        return st;
    }
    log->version = schema_version;
    *out = log;
    return ASSAY_OK;
}

enum assay_status campaign_log_read(const char *path, struct campaign_log **out,
                                    struct error *err)
{
    struct campaign_log *log = NULL;
    bool is_there;
    enum assay_status st = check_owner(path, &is_there, err);

    *out = NULL;
    if (!st && !is_there)
        st = error_set(err, ASSAY_NOT_FOUND, "there is no log in %s", path);
    if (!st)
        st = new_log(path, &log, err);
    if (!st)
        st = log_connect(log, DATABASE_READ, err);
    if (st)
        campaign_log_close(log);
    else
        *out = log;
    return st;
}

/* ---- one test ----------------------------------------------------------- */

/* Binds the key of a test: parameters 1 to 6, and 22. */
static bool bind_test(sqlite3_stmt *row, const struct campaign_test *test)
{
    return !sqlite3_bind_text(row, 1, test->network, -1, SQLITE_STATIC) &&
           !sqlite3_bind_int64(row, 2, test->level) &&
           !sqlite3_bind_int64(row, 3, test->repeat) &&
           !sqlite3_bind_int64(row, 4, test->batch) &&
           !sqlite3_bind_text(row, 5, stage_names[test->stage], -1,
                              SQLITE_STATIC) &&
           !sqlite3_bind_text(row, 6, target_names[test->target], -1,
                              SQLITE_STATIC) &&
           !sqlite3_bind_text(row, 22, framework_names[test->framework], -1,
                              SQLITE_STATIC);
}

static const char *text_of(sqlite3_stmt *row, int column)
{
    const unsigned char *text = sqlite3_column_text(row, column);

    return text ? (const char *)text : "";
}

enum assay_status campaign_log_find(struct campaign_log *log,
                                    const struct campaign_test *test,
                                    struct campaign_result *before,
                                    struct error *err)
{
    static const char select[] =
        "SELECT passed, %s, reason FROM test WHERE network = ?1 AND"
        " level = ?2 AND repeat = ?3 AND batch = ?4 AND stage = ?5 AND"
        " variable = ?6 AND %s = ?22";
    char text[sizeof select + 16];
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;
    int rc = SQLITE_ERROR;

    *before = (struct campaign_result){0};
    snprintf(text, sizeof text, select, log->version >= 2 ? "rounds" : "1",
             log->version >= 4 ? "framework" : "'assay'");
    if (!sqlite3_prepare_v2(log->db, text, -1, &row, NULL) &&
        bind_test(row, test))
        rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) {
        before->is_passed = sqlite3_column_int(row, 0);
        before->n_rounds = (size_t)sqlite3_column_int64(row, 1);
        snprintf(before->reason, sizeof before->reason, "%s", text_of(row, 2));
    } else if (rc != SQLITE_DONE) {
        st = log_fail(log, "reading the log", err);
    }
    sqlite3_finalize(row);
    return st;
}

static bool bind_result(sqlite3_stmt *row, const struct campaign_test *test,
                        const struct campaign_result *result)
{
    const double values[] = {result->latency_ms,  result->alloc_mb,
                             result->reserved_mb, result->used_mb,
                             result->avail_mb,    result->free_mb,
                             result->capacity_mb};
    bool is_bound =
        bind_test(row, test) &&
        !sqlite3_bind_text(row, 7, test->file, -1, SQLITE_STATIC) &&
        !sqlite3_bind_int(row, 8, result->is_passed) &&
        !sqlite3_bind_text(row, 9, result->reason, -1, SQLITE_STATIC);

    for (int i = 0; i < 7; i++)
        is_bound &= !sqlite3_bind_double(row, 10 + i, values[i]);
    return is_bound && !sqlite3_bind_double(row, 17, result->seconds) &&
           !sqlite3_bind_int64(row, 18, (int64_t)result->n_steps) &&
           !sqlite3_bind_int64(
               row, 19, result->n_rounds ? (int64_t)result->n_rounds : 1) &&
           !sqlite3_bind_double(row, 20, result->lane) &&
           !sqlite3_bind_text(row, 21, result->machine, -1, SQLITE_STATIC) &&
           !sqlite3_bind_double(row, 23, result->multiprocessors);
}

static enum assay_status add_steps(struct campaign_log *log,
                                   const struct campaign_test *test,
                                   const struct campaign_result *result,
                                   struct error *err)
{
    static const char text[] =
        "INSERT INTO step SELECT id, (SELECT count(*) FROM step WHERE"
        " test = id), ?7 FROM test WHERE network = ?1 AND level = ?2 AND"
        " repeat = ?3 AND batch = ?4 AND stage = ?5 AND variable = ?6 AND"
        " framework = ?22";
    const size_t most = sizeof result->steps_ms / sizeof *result->steps_ms;
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;

    if (sqlite3_prepare_v2(log->db, text, -1, &row, NULL) ||
        !bind_test(row, test))
        st = log_fail(log, "writing the log", err);
    for (size_t i = 0; !st && i < result->n_steps && i < most; i++) {
        sqlite3_reset(row);
        if (sqlite3_bind_double(row, 7, result->steps_ms[i]) ||
            sqlite3_step(row) != SQLITE_DONE)
            st = log_fail(log, "writing the log", err);
    }
    sqlite3_finalize(row);
    return st;
}

static const char insert[] =
    "INSERT INTO test (network, level, repeat, batch, stage, variable,"
    " file, passed, reason, latency_ms, alloc_mb, reserved_mb, used_mb,"
    " avail_mb, free_mb, capacity_mb, seconds, steps, rounds, lane, machine,"
    " framework, multiprocessors) VALUES"
    " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
    " ?17, ?18, ?19, ?20, ?21, ?22, ?23)";

static const char update[] =
    "UPDATE test SET lane = ?20, machine = ?21, multiprocessors = ?23,"
    " rounds = rounds + ?19, seconds = seconds + ?17,"
    " steps = steps + ?18, latency_ms = CASE WHEN ?8 AND ?10 < latency_ms"
    " THEN ?10 ELSE latency_ms END WHERE network = ?1 AND level = ?2 AND"
    " repeat = ?3 AND batch = ?4 AND stage = ?5 AND variable = ?6 AND"
    " framework = ?22";

static enum assay_status log_put(struct campaign_log *log, const char *text,
                                 const struct campaign_test *test,
                                 const struct campaign_result *result,
                                 struct error *err)
{
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;

    if (sqlite3_prepare_v2(log->db, text, -1, &row, NULL) ||
        !bind_result(row, test, result) || sqlite3_step(row) != SQLITE_DONE)
        st = log_fail(log, "writing the log", err);
    sqlite3_finalize(row);
    return st;
}

static enum assay_status write_test(struct campaign_log *log, const char *text,
                                    const struct campaign_test *test,
                                    const struct campaign_result *result,
                                    bool keeps_steps, struct error *err)
{
    enum assay_status st;

    if (sqlite3_exec(log->db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
        return log_fail(log, "writing the log", err);
    st = log_put(log, text, test, result, err);
    if (!st && keeps_steps)
        st = add_steps(log, test, result, err);
    if (!st && sqlite3_exec(log->db, "COMMIT", NULL, NULL, NULL))
        st = log_fail(log, "writing the log", err);
    if (st)
        sqlite3_exec(log->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

enum assay_status campaign_log_add(struct campaign_log *log,
                                   const struct campaign_test *test,
                                   const struct campaign_result *result,
                                   bool keeps_steps, struct error *err)
{
    return write_test(log, insert, test, result, keeps_steps, err);
}

enum assay_status campaign_log_again(struct campaign_log *log,
                                     const struct campaign_test *test,
                                     const struct campaign_result *result,
                                     bool keeps_steps, struct error *err)
{
    return write_test(log, update, test, result, keeps_steps, err);
}

/* ---- all of them -------------------------------------------------------- */

static int log_find_name(const char *const *names, const char *text)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0)
            return i;
    }
    return -1;
}

/* False if the row cannot be a test. */
static bool log_read_row(sqlite3_stmt *row, struct campaign_test *test,
                         struct campaign_result *result)
{
    int stage = log_find_name(stage_names, text_of(row, 4));
    int target = log_find_name(target_names, text_of(row, 5));
    int framework = log_find_name(framework_names, text_of(row, 21));
    double *values[] = {&result->latency_ms,  &result->alloc_mb,
                        &result->reserved_mb, &result->used_mb,
                        &result->avail_mb,    &result->free_mb,
                        &result->capacity_mb};

    *test = (struct campaign_test){.network = text_of(row, 0),
                                   .level = sqlite3_column_int64(row, 1),
                                   .repeat = sqlite3_column_int64(row, 2),
                                   .batch = sqlite3_column_int64(row, 3),
                                   .file = text_of(row, 6)};
    *result = (struct campaign_result){.is_passed = sqlite3_column_int(row, 7)};
    if (stage < 0 || target < 0 || framework < 0)
        return false;
    test->framework = (enum framework)framework;
    test->stage = (enum stage)stage;
    test->target = (enum target)target;
    snprintf(result->reason, sizeof result->reason, "%s", text_of(row, 8));
    for (int i = 0; i < 7; i++)
        *values[i] = sqlite3_column_double(row, 9 + i);
    result->seconds = sqlite3_column_double(row, 16);
    result->n_steps = (size_t)sqlite3_column_int64(row, 17);
    result->n_rounds = (size_t)sqlite3_column_int64(row, 18);
    result->lane = sqlite3_column_double(row, 19);
    snprintf(result->machine, sizeof result->machine, "%s", text_of(row, 20));
    result->multiprocessors = sqlite3_column_double(row, 22);
    return true;
}

enum assay_status campaign_log_each(
    struct campaign_log *log,
    enum assay_status (*take)(void *context, const struct campaign_test *test,
                              const struct campaign_result *result,
                              struct error *err),
    void *context, struct error *err)
{
    static const char select[] =
        "SELECT network, level, repeat, batch, stage, variable, file, passed,"
        " reason, latency_ms, alloc_mb, reserved_mb, used_mb, avail_mb,"
        " free_mb, capacity_mb, seconds, steps, %s FROM test ORDER"
        " BY network, level, repeat, framework, stage, batch, variable";
    static const char *const newer[] = {
        [1] = "1, NULL, '', 'assay' AS framework, NULL",
        [2] = "rounds, lane, '', 'assay' AS framework, NULL",
        [3] = "rounds, lane, machine, 'assay' AS framework, NULL",
        [4] = "rounds, lane, machine, framework, NULL",
        [5] = "rounds, lane, machine, framework, multiprocessors"};
    char text[sizeof select + 64];
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;
    int rc = SQLITE_DONE;

    snprintf(text, sizeof text, select,
             newer[log->version >= 1 ? log->version : schema_version]);
    if (sqlite3_prepare_v2(log->db, text, -1, &row, NULL))
        return log_fail(log, "reading the log", err);
    while (!st && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        struct campaign_test test;
        struct campaign_result result;

        if (log_read_row(row, &test, &result))
            st = take(context, &test, &result, err);
        else
            st = error_set(err, ASSAY_BAD_INPUT, "%s holds an invalid test",
                           log->path);
    }
    if (!st && rc != SQLITE_DONE)
        st = log_fail(log, "reading the log", err);
    sqlite3_finalize(row);
    return st;
}

struct join {
    struct campaign_log *to;
    size_t n_added;
};

static enum assay_status join_one(void *context,
                                  const struct campaign_test *test,
                                  const struct campaign_result *result,
                                  struct error *err)
{
    struct join *join = context;
    struct campaign_result before;
    enum assay_status st = campaign_log_find(join->to, test, &before, err);

    if (st || before.n_rounds)
        return st;
    join->n_added++;
    return campaign_log_add(join->to, test, result, false, err);
}

enum assay_status campaign_log_join(struct campaign_log *log, const char *path,
                                    size_t *n_added, struct error *err)
{
    struct join join = {.to = log};
    struct campaign_log *from;
    enum assay_status st = campaign_log_read(path, &from, err);

    if (!st)
        st = campaign_log_each(from, join_one, &join, err);
    campaign_log_close(from);
    *n_added = join.n_added;
    return st;
}
