/* predict/campaign_log.c - see campaign.h: tests in a SQLite file. */
#include "predict/campaign.h"

#include "base/cache.h"
#include "base/mem.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { schema_version = 2, application_id = 0x41736379 /* "Ascy" */ };

struct campaign_log {
    sqlite3 *db;
    const char *path; /* behind the struct */
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS test (id INTEGER PRIMARY KEY,"
    " network TEXT NOT NULL, level INTEGER NOT NULL, repeat INTEGER NOT NULL,"
    " batch INTEGER NOT NULL, stage TEXT NOT NULL, variable TEXT NOT NULL,"
    " file TEXT NOT NULL, passed INTEGER NOT NULL, reason TEXT NOT NULL,"
    " latency_ms REAL, alloc_mb REAL, reserved_mb REAL, used_mb REAL,"
    " avail_mb REAL, free_mb REAL, capacity_mb REAL, seconds REAL,"
    " steps INTEGER, finished TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,"
    " rounds INTEGER NOT NULL DEFAULT 1, lane REAL,"
    " UNIQUE (network, level, repeat, batch, stage, variable));"
    "CREATE TABLE IF NOT EXISTS step (test INTEGER NOT NULL,"
    " number INTEGER NOT NULL, ms REAL NOT NULL, PRIMARY KEY (test, number));"
    "PRAGMA user_version = 2;"
    "PRAGMA application_id = 1098081145;";

static enum assay_status fail(const struct campaign_log *log, const char *what,
                              struct error *err)
{
    int code = sqlite3_errcode(log->db);
    enum assay_status st = code == SQLITE_NOMEM    ? ASSAY_NOMEM
                           : code == SQLITE_NOTADB ? ASSAY_BAD_INPUT
                                                   : ASSAY_IO;

    return error_set(err, st, "%s %s: %s", what, log->path,
                     sqlite3_errmsg(log->db));
}

/* Logs of version 1 know one round. */
static const char add_columns[] =
    "ALTER TABLE test ADD COLUMN rounds INTEGER NOT NULL DEFAULT 1;"
    "ALTER TABLE test ADD COLUMN lane REAL";

static enum assay_status check_version(struct campaign_log *log,
                                       struct error *err)
{
    sqlite3_stmt *row = NULL;
    int version = 0;
    enum assay_status st = ASSAY_OK;

    if (sqlite3_prepare_v2(log->db, "PRAGMA user_version", -1, &row, NULL) ||
        sqlite3_step(row) != SQLITE_ROW)
        st = fail(log, "opening the log", err);
    else
        version = sqlite3_column_int(row, 0);
    sqlite3_finalize(row);
    if (!st && version > schema_version)
        st =
            error_set(err, ASSAY_UNSUPPORTED,
                      "the log %s is of version %d, and this program knows %d; "
                      "take the newer program, or another log_dir",
                      log->path, version, schema_version);
    if (!st && version == 1 &&
        sqlite3_exec(log->db, add_columns, NULL, NULL, NULL))
        st = fail(log, "opening the log", err);
    return st;
}

void campaign_log_close(struct campaign_log *log)
{
    if (!log)
        return;
    sqlite3_close(log->db);
    mem_free(log);
}

enum assay_status campaign_log_open(const char *path, struct campaign_log **out,
                                    struct error *err)
{
    size_t n = strlen(path) + 1;
    struct campaign_log *log = mem_zalloc(sizeof *log + n);
    enum assay_status st = ASSAY_OK;

    *out = NULL;
    if (!log)
        return error_nomem(err, sizeof *log, "a log");
    memcpy(log + 1, path, n);
    log->path = (const char *)(log + 1);
    st = cache_make_folders(path, err);
    if (!st &&
        (sqlite3_open(path, &log->db) || sqlite3_busy_timeout(log->db, 10000)))
        st = fail(log, "opening the log", err);
    if (!st)
        st = check_version(log, err);
    if (!st && sqlite3_exec(log->db, schema, NULL, NULL, NULL))
        st = fail(log, "opening the log", err);
    if (st)
        campaign_log_close(log);
    else
        *out = log;
    return st;
}

/* ---- one test ----------------------------------------------------------- */

/* What tells a test from the others: parameters 1 to 6. */
static bool bind_test(sqlite3_stmt *row, const struct campaign_test *test)
{
    return !sqlite3_bind_text(row, 1, test->network, -1, SQLITE_STATIC) &&
           !sqlite3_bind_int64(row, 2, test->level) &&
           !sqlite3_bind_int64(row, 3, test->repeat) &&
           !sqlite3_bind_int64(row, 4, test->batch) &&
           !sqlite3_bind_text(row, 5, stage_names[test->stage], -1,
                              SQLITE_STATIC) &&
           !sqlite3_bind_text(row, 6, target_names[test->target], -1,
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
        "SELECT passed, rounds, reason FROM test WHERE network = ?1 AND"
        " level = ?2 AND repeat = ?3 AND batch = ?4 AND stage = ?5 AND"
        " variable = ?6";
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;
    int rc = SQLITE_ERROR;

    *before = (struct campaign_result){0};
    if (!sqlite3_prepare_v2(log->db, select, -1, &row, NULL) &&
        bind_test(row, test))
        rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) {
        before->is_passed = sqlite3_column_int(row, 0);
        before->n_rounds = (size_t)sqlite3_column_int64(row, 1);
        snprintf(before->reason, sizeof before->reason, "%s", text_of(row, 2));
    } else if (rc != SQLITE_DONE) {
        st = fail(log, "reading the log", err);
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
           !sqlite3_bind_double(row, 20, result->lane);
}

static enum assay_status add_steps(struct campaign_log *log,
                                   const struct campaign_test *test,
                                   const struct campaign_result *result,
                                   struct error *err)
{
    static const char text[] =
        "INSERT INTO step SELECT id, (SELECT count(*) FROM step WHERE"
        " test = id), ?7 FROM test WHERE network = ?1 AND level = ?2 AND"
        " repeat = ?3 AND batch = ?4 AND stage = ?5 AND variable = ?6";
    const size_t most = sizeof result->steps_ms / sizeof *result->steps_ms;
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;

    if (sqlite3_prepare_v2(log->db, text, -1, &row, NULL) ||
        !bind_test(row, test))
        st = fail(log, "writing the log", err);
    for (size_t i = 0; !st && i < result->n_steps && i < most; i++) {
        sqlite3_reset(row);
        if (sqlite3_bind_double(row, 7, result->steps_ms[i]) ||
            sqlite3_step(row) != SQLITE_DONE)
            st = fail(log, "writing the log", err);
    }
    sqlite3_finalize(row);
    return st;
}

static const char insert[] =
    "INSERT INTO test (network, level, repeat, batch, stage, variable,"
    " file, passed, reason, latency_ms, alloc_mb, reserved_mb, used_mb,"
    " avail_mb, free_mb, capacity_mb, seconds, steps, rounds, lane) VALUES"
    " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"
    " ?17, ?18, ?19, ?20)";

static const char update[] =
    "UPDATE test SET lane = ?20, rounds = rounds + ?19, seconds = seconds + "
    "?17,"
    " steps = steps + ?18, latency_ms = CASE WHEN ?8 AND ?10 < latency_ms"
    " THEN ?10 ELSE latency_ms END WHERE network = ?1 AND level = ?2 AND"
    " repeat = ?3 AND batch = ?4 AND stage = ?5 AND variable = ?6";

static enum assay_status put(struct campaign_log *log, const char *text,
                             const struct campaign_test *test,
                             const struct campaign_result *result,
                             struct error *err)
{
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;

    if (sqlite3_prepare_v2(log->db, text, -1, &row, NULL) ||
        !bind_result(row, test, result) || sqlite3_step(row) != SQLITE_DONE)
        st = fail(log, "writing the log", err);
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
        return fail(log, "writing the log", err);
    st = put(log, text, test, result, err);
    if (!st && keeps_steps)
        st = add_steps(log, test, result, err);
    if (!st && sqlite3_exec(log->db, "COMMIT", NULL, NULL, NULL))
        st = fail(log, "writing the log", err);
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

static int find_name(const char *const *names, const char *text)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], text) == 0)
            return i;
    }
    return -1;
}

/* False where a row is none of ours. */
static bool read_row(sqlite3_stmt *row, struct campaign_test *test,
                     struct campaign_result *result)
{
    int stage = find_name(stage_names, text_of(row, 4));
    int target = find_name(target_names, text_of(row, 5));
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
    if (stage < 0 || target < 0)
        return false;
    test->stage = (enum stage)stage;
    test->target = (enum target)target;
    snprintf(result->reason, sizeof result->reason, "%s", text_of(row, 8));
    for (int i = 0; i < 7; i++)
        *values[i] = sqlite3_column_double(row, 9 + i);
    result->seconds = sqlite3_column_double(row, 16);
    result->n_steps = (size_t)sqlite3_column_int64(row, 17);
    result->n_rounds = (size_t)sqlite3_column_int64(row, 18);
    result->lane = sqlite3_column_double(row, 19);
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
        " free_mb, capacity_mb, seconds, steps, rounds, lane FROM test ORDER"
        " BY network, level, repeat, stage, batch, variable";
    sqlite3_stmt *row = NULL;
    enum assay_status st = ASSAY_OK;
    int rc = SQLITE_DONE;

    if (sqlite3_prepare_v2(log->db, select, -1, &row, NULL))
        return fail(log, "reading the log", err);
    while (!st && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        struct campaign_test test;
        struct campaign_result result;

        if (read_row(row, &test, &result))
            st = take(context, &test, &result, err);
        else
            st = error_set(err, ASSAY_BAD_INPUT,
                           "%s holds a test that cannot be", log->path);
    }
    if (!st && rc != SQLITE_DONE)
        st = fail(log, "reading the log", err);
    sqlite3_finalize(row);
    return st;
}

/* What a test of another log is added by. */
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
    enum assay_status st = campaign_log_open(path, &from, err);

    if (!st)
        st = campaign_log_each(from, join_one, &join, err);
    campaign_log_close(from);
    *n_added = join.n_added;
    return st;
}
