/* tests/store/store_bad_test.c - files that are no (longer) run files. */
#include "runs.h"

#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");

    CHECK(file != NULL);
    CHECK_INT(fwrite(bytes, 1, n, file), n);
    CHECK_INT(fclose(file), 0);
}

/* The bytes of a good file, made once: a save waits for the disk. */
static const char *good_bytes(size_t *n)
{
    static char bytes[1 << 20];
    static size_t n_bytes;
    const char *path = test_path("good.assay");
    struct run *run;
    struct error err = {0};
    FILE *file;

    if (n_bytes == 0) {
        run = rich_run(12);
        OK(run_seal(run, &err));
        OK(store_save(run, path, &err));
        run_free(run);
        file = fopen(path, "rb");
        CHECK(file != NULL);
        n_bytes = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
    }
    *n = n_bytes;
    return bytes;
}

static void save_good(const char *path)
{
    size_t n;
    const char *bytes = good_bytes(&n);

    write_file(path, bytes, n);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;
    char *message = NULL;

    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    if (sqlite3_exec(db, sql, NULL, NULL, &message))
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

/* Loading fails with this status, in one line that names the file and has the
 * words. */
static void check_refused(const char *path, enum assay_status status,
                          const char *words)
{
    struct error err = {0};
    struct run *run;

    CHECK_STATUS(store_load(path, &run, &err), status, &err);
    CHECK(run == NULL);
    CHECK_HAS(err.text, strrchr(path, '/') + 1);
    CHECK_HAS(err.text, words);
    CHECK(strchr(err.text, '\n') == NULL);
}

/* A good file that was altered with SQL is refused with these words. */
static void check_tampered(const char *sql, const char *words)
{
    const char *path = test_path("tampered.assay");

    save_good(path);
    execute(path, sql);
    check_refused(path, ASSAY_BAD_INPUT, words);
}

/* ---- other files ------------------------------------------------------ */

TEST(a_missing_file_is_reported)
{
    check_refused(test_path("none.assay"), ASSAY_NOT_FOUND, "No such file");
}

TEST(an_empty_file_is_reported)
{
    write_file(test_path("empty.assay"), "", 0);
    check_refused(test_path("empty.assay"), ASSAY_BAD_INPUT, "is empty");
}

TEST(a_folder_is_reported)
{
    CHECK_INT(mkdir(test_path("folder.assay"), 0777), 0);
    check_refused(test_path("folder.assay"), ASSAY_BAD_INPUT, "folder");
}

TEST(a_pipe_is_refused_without_waiting_for_it)
{
    CHECK_INT(mkfifo(test_path("pipe.assay"), 0666), 0);
    check_refused(test_path("pipe.assay"), ASSAY_BAD_INPUT, "regular file");
}

/* Root can read every file, so another user tries. */
static int load_as_nobody(const char *path)
{
    struct error err = {0};
    struct run *run;

    if (geteuid() == 0 && setuid(65534))
        return 2;
    return store_load(path, &run, &err) == ASSAY_IO && !run &&
                   strstr(err.text, "secret.assay: Permission denied")
               ? 0
               : 1;
}

TEST(an_unreadable_file_is_reported)
{
    const char *path = test_path("secret.assay");
    int status;
    pid_t pid;

    save_good(path);
    CHECK_INT(chmod(test_path(""), 0755), 0);
    CHECK_INT(chmod(path, 0), 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(load_as_nobody(path));
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(WEXITSTATUS(status), 0);
}

TEST(a_file_of_another_kind_is_recognised)
{
    static const struct {
        const char *start, *kind;
    } files[] = {
        {"\x89PNG\r\n\x1a\n....", "it is a PNG image"},
        {"\xff\xd8\xff\xe0....", "it is a JPEG image"},
        {"PK\x03\x04....", "zip archive"},
        {"\x1f\x8b\x08....", "gzip"},
        {"\x7f"
         "ELF....",
         "a program or a library"},
        {"{\"traceEvents\": []}", "assay import"},
        {"\n [{\"ph\":\"X\"}]", "assay import"},
        {"lr = 0.1\n", "it is a text file"},
        {"\x01\x02\x03\x04\x05\x06", "is not a run file"},
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_file(test_path("other.assay"), files[i].start,
                   strlen(files[i].start));
        check_refused(test_path("other.assay"), ASSAY_BAD_INPUT, files[i].kind);
    }
}

TEST(a_database_of_another_program_is_reported)
{
    const char *path = test_path("foreign.assay");

    execute(path, "CREATE TABLE scope(id)");
    check_refused(path, ASSAY_BAD_INPUT, "SQLite database of another program");
}

/* ---- versions --------------------------------------------------------- */

TEST(a_newer_file_is_refused_with_both_versions)
{
    const char *path = test_path("newer.assay");

    save_good(path);
    execute(path, "PRAGMA user_version = 7");
    check_refused(path, ASSAY_UNSUPPORTED,
                  "newer Assay (format 7, this one reads up to 6); update");
}

/* Written down as the first version was: never to be changed with the code. */
static const char version_1[] =
    "PRAGMA application_id = 1095975257; PRAGMA user_version = 1;"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value);"
    "CREATE TABLE fact(key TEXT PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE health(name TEXT PRIMARY KEY, count INTEGER NOT NULL);"
    "CREATE TABLE scope(id INTEGER PRIMARY KEY, parent INTEGER,"
    " name TEXT NOT NULL, class TEXT NOT NULL, path TEXT);"
    "CREATE TABLE phase(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE thread(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " kind TEXT NOT NULL);"
    "CREATE TABLE iteration(i INTEGER, thread INTEGER, start_ns INTEGER,"
    " duration_ns INTEGER);"
    "CREATE TABLE stat(id INTEGER PRIMARY KEY, scope INTEGER, phase INTEGER,"
    " thread INTEGER, outside INTEGER, total_ns INTEGER, self_ns INTEGER,"
    " bytes INTEGER, calls INTEGER, call_mean_ns REAL, call_m2 REAL,"
    " call_min_ns INTEGER, call_max_ns INTEGER, call_sketch BLOB,"
    " iterations INTEGER, iteration_mean_ns REAL, iteration_m2 REAL,"
    " iteration_min_ns INTEGER, iteration_max_ns INTEGER,"
    " iteration_sketch BLOB, stride INTEGER);"
    "CREATE TABLE point(stat INTEGER, iteration INTEGER, calls INTEGER,"
    " total_ns INTEGER, self_ns INTEGER, PRIMARY KEY(stat, iteration))"
    " WITHOUT ROWID;"
    "CREATE TABLE sample(scope INTEGER, phase INTEGER, thread INTEGER,"
    " iteration INTEGER, start_ns INTEGER, duration_ns INTEGER,"
    " self_ns INTEGER, bytes INTEGER);"
    "INSERT INTO meta VALUES('complete', 1), ('duration_ns', 30),"
    " ('iterations', 2);"
    "INSERT INTO fact VALUES('machine.cpu', 'old');"
    "INSERT INTO health VALUES('lost_spans', 6);"
    "INSERT INTO scope VALUES(0, NULL, 'run', '', 'run'),"
    " (1, 0, 'conv', 'Conv2d', 'conv');"
    "INSERT INTO phase VALUES(0, ''), (1, 'forward');"
    "INSERT INTO thread VALUES(0, 'main', 'cpu');"
    "INSERT INTO iteration VALUES(0, 0, 0, 12), (1, 0, 15, 14);"
    /* Values 10 and 13: buckets of their own below 64. */
    "INSERT INTO stat VALUES(0, 1, 1, 0, 0, 23, 20, -7,"
    " 2, 11.5, 4.5, 10, 13, x'0A010301', 2, 11.5, 4.5, 10, 13, x'0A010301',"
    " 1);"
    "INSERT INTO point VALUES(0, 0, 1, 10, 9), (0, 1, 1, 13, 11);"
    "INSERT INTO sample VALUES(1, 1, 0, 0, 1, 10, 9, NULL),"
    " (1, 1, 0, NULL, 16, 13, 11, -7);";

TEST(a_file_of_the_first_version_is_read)
{
    struct error err = {0};
    const struct cell *cell;
    struct run *run;

    execute(test_path("old.assay"), version_1);
    OK(store_load(test_path("old.assay"), &run, &err));
    CHECK_INT(run_iteration_count(run), 2);
    CHECK_INT(run_duration_ns(run), 30);
    CHECK_INT(run_health_of(run)->lost_spans, 6);
    CHECK(!run_health_of(run)->is_incomplete);
    CHECK_STR(run_fact(run, "machine.cpu"), "old");
    CHECK_INT(run_memory_of(run)->peak_bytes, RUN_UNKNOWN);
    CHECK_INT(run_counters(run), 0);
    cell = run_cell(run, 0);
    CHECK_INT(cell->bytes, -7);
    CHECK_INT(cell->peak_bytes, RUN_UNKNOWN);
    CHECK_INT(cell->calls.sketch.counts[13 - cell->calls.sketch.first], 1);
    CHECK_INT(cell->points[1].self_ns, 11);
    CHECK_INT(run_kept(run, 0)->bytes, RUN_UNKNOWN);
    CHECK_INT(run_kept(run, 1)->bytes, -7);
    CHECK_INT(run_kept(run, 1)->iteration, RUN_NONE);
    CHECK_INT(run_kept(run, 1)->peak_bytes, RUN_UNKNOWN);
    run_free(run);
}

/* What the second version added, written down as it was then. */
static const char version_2[] =
    "PRAGMA user_version = 2;"
    "ALTER TABLE stat ADD COLUMN peak_bytes INTEGER;"
    "ALTER TABLE sample ADD COLUMN peak_bytes INTEGER;"
    "CREATE TABLE counter(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " unit TEXT NOT NULL, n INTEGER NOT NULL, mean REAL, min REAL, max REAL,"
    " last REAL, stride INTEGER NOT NULL);"
    "CREATE TABLE counter_point(counter INTEGER NOT NULL,"
    " time_ns INTEGER NOT NULL, value REAL);"
    "UPDATE stat SET peak_bytes = 4096;"
    "INSERT INTO meta VALUES('peak_bytes', 8192), ('peak_scope', 1),"
    " ('peak_ns', 12);"
    "INSERT INTO counter VALUES(0, 'queue', 'items', 1, 3, 3, 3, 3, 1);"
    "INSERT INTO counter_point VALUES(0, 5, 3);";

TEST(a_file_of_the_second_version_is_read)
{
    struct error err = {0};
    struct run *run;

    execute(test_path("second.assay"), version_1);
    execute(test_path("second.assay"), version_2);
    OK(store_load(test_path("second.assay"), &run, &err));
    CHECK_INT(run_iteration_count(run), 2);
    CHECK_INT(run_cell(run, 0)->peak_bytes, 4096);
    CHECK_INT(run_memory_of(run)->peak_scope, 1);
    CHECK_INT(run_counters(run), 1);
    CHECK(run_counter(run, 0)->points[0].value == 3);
    CHECK(!run_has_work(run));
    CHECK(run_work(run, 1) == NULL);
    run_free(run);
}

/* What the third version added. */
static const char version_3[] =
    "PRAGMA user_version = 3;"
    "CREATE TABLE work(scope INTEGER PRIMARY KEY, macs REAL, flops REAL,"
    " read_bytes REAL, write_bytes REAL, parameters REAL, done_by INTEGER);"
    "INSERT INTO work VALUES(1, 5, 6, 7, 8, 9, NULL);";

TEST(a_file_of_the_third_version_is_read)
{
    struct error err = {0};
    struct run *run;

    execute(test_path("third.assay"), version_1);
    execute(test_path("third.assay"), version_2);
    execute(test_path("third.assay"), version_3);
    OK(store_load(test_path("third.assay"), &run, &err));
    CHECK(run_work(run, 1)->parameters == 9);
    CHECK(isnan(run_work(run, 1)->done_flops));
    CHECK(isnan(run_work(run, 1)->done_bytes));
    CHECK_INT(run_series_count(run), 0);
    CHECK_INT(run_ledger_count(run), 0);
    run_free(run);
}

/* What the fourth version added. */
static const char version_4[] =
    "PRAGMA user_version = 4;"
    "ALTER TABLE work ADD COLUMN done_flops REAL;"
    "ALTER TABLE work ADD COLUMN done_bytes REAL;"
    "UPDATE work SET done_flops = 10, done_bytes = 11;"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " unit TEXT NOT NULL, stride INTEGER NOT NULL);"
    "CREATE TABLE series_label(series INTEGER NOT NULL, i INTEGER NOT NULL,"
    " label TEXT NOT NULL, PRIMARY KEY(series, i)) WITHOUT ROWID;"
    "CREATE TABLE series_point(series INTEGER NOT NULL,"
    " iteration INTEGER NOT NULL, value REAL NOT NULL,"
    " PRIMARY KEY(series, iteration)) WITHOUT ROWID;"
    "CREATE TABLE ledger(id INTEGER PRIMARY KEY, kind TEXT NOT NULL,"
    " scope INTEGER, bytes INTEGER NOT NULL, what TEXT NOT NULL);";

TEST(a_file_of_the_fourth_version_is_read)
{
    struct error err = {0};
    struct run *run;

    execute(test_path("fourth.assay"), version_1);
    execute(test_path("fourth.assay"), version_2);
    execute(test_path("fourth.assay"), version_3);
    execute(test_path("fourth.assay"), version_4);
    OK(store_load(test_path("fourth.assay"), &run, &err));
    CHECK(run_work(run, 1)->done_bytes == 11);
    CHECK(isnan(run_work(run, 1)->kept_bytes));
    run_free(run);
}

/* Work is read only from files of the third version or later. */
TEST(a_table_that_its_version_does_not_have_is_ignored)
{
    struct error err = {0};
    struct run *run;

    execute(test_path("odd.assay"), version_1);
    execute(test_path("odd.assay"), version_2);
    execute(test_path("odd.assay"),
            "CREATE TABLE work(scope INTEGER PRIMARY KEY, macs);"
            "INSERT INTO work VALUES(1, 5)");
    OK(store_load(test_path("odd.assay"), &run, &err));
    CHECK(!run_has_work(run));
    run_free(run);
    execute(test_path("odd.assay"), "PRAGMA user_version = 3");
    check_refused(test_path("odd.assay"), ASSAY_BAD_INPUT, "damaged");
}

TEST(an_old_file_without_its_tables_is_refused)
{
    execute(test_path("older.assay"), version_1);
    execute(test_path("older.assay"), "DROP TABLE stat");
    check_refused(test_path("older.assay"), ASSAY_BAD_INPUT, "no table stat");
}

/* ---- tampering -------------------------------------------------------- */

TEST(an_impossible_tree_is_refused)
{
    check_tampered("UPDATE scope SET parent = 2 WHERE id = 1", "parent");
    check_tampered("UPDATE scope SET parent = 1 WHERE id = 1", "parent");
    check_tampered("UPDATE scope SET parent = -1 WHERE id = 1", "parent");
    check_tampered("UPDATE scope SET parent = 4294967295 WHERE id = 1",
                   "parent");
    check_tampered("UPDATE scope SET parent = 0 WHERE id = 0", "parent");
    check_tampered("UPDATE scope SET parent = NULL WHERE id = 2", "parent");
    check_tampered("DELETE FROM scope WHERE id = 1", "table scope, row 2");
    check_tampered("INSERT INTO scope VALUES(4, 0, 'backbone', 'ResNet', '')",
                   "twice");
}

TEST(a_tree_that_is_too_deep_is_refused)
{
    check_tampered("WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL"
                   " SELECT i + 1 FROM n WHERE i < 6000)"
                   " INSERT INTO scope SELECT i, i - 1, 'x', '', '' FROM n",
                   "deeper than");
}

TEST(edges_are_read_from_a_file_of_any_version_and_checked)
{
#define EDGES "CREATE TABLE edge(src INTEGER, dst INTEGER);"
    const char *path = test_path("edges.assay");
    struct error err = {0};
    struct run *run;

    save_good(path);
    execute(path, EDGES "INSERT INTO edge VALUES(NULL, 1), (1, 2), (2, NULL)");
    CHECK_STATUS(store_load(path, &run, &err), ASSAY_OK, &err);
    CHECK_INT(run_edge_count(run), 3);
    CHECK_INT(run_edge(run, 0)->from, RUN_NONE);
    CHECK_INT(run_edge(run, 1)->from, 1);
    CHECK_INT(run_edge(run, 1)->to, 2);
    CHECK_INT(run_edge(run, 2)->to, RUN_NONE);
    run_free(run);
    check_tampered(EDGES "INSERT INTO edge VALUES(1, 99)", "table edge");
    check_tampered(EDGES "INSERT INTO edge VALUES(-1, 1)", "table edge");
    check_tampered(EDGES "INSERT INTO edge VALUES('x', 1)", "table edge");
    check_tampered("CREATE TABLE edge(src INTEGER, dst AS (src))",
                   "computed columns");
    save_good(path);
    execute(path, "CREATE VIEW edge AS SELECT 1 AS src, 2 AS dst");
    CHECK_STATUS(store_load(path, &run, &err), ASSAY_OK, &err);
    CHECK_INT(run_edge_count(run), 0);
    run_free(run);
#undef EDGES
}

TEST(dangling_ids_are_refused)
{
    check_tampered("UPDATE stat SET scope = 99 WHERE id = 1", "scope");
    check_tampered("UPDATE stat SET phase = -1 WHERE id = 1", "phase");
    check_tampered("UPDATE stat SET thread = 1e9 WHERE id = 1", "thread");
    check_tampered("UPDATE stat SET scope = scope + 4294967296", "scope");
    check_tampered("UPDATE sample SET scope = 99", "table sample");
    check_tampered("UPDATE iteration SET thread = 3", "table iteration");
    check_tampered("UPDATE point SET stat = stat + 1000", "table point");
    check_tampered("UPDATE counter_point SET counter = 2", "counter");
    check_tampered("UPDATE meta SET value = 77 WHERE key = 'peak_scope'",
                   "peak");
    check_tampered("UPDATE stat SET scope = 1, phase = 1, thread = 0,"
                   " outside = 0",
                   "twice");
}

TEST(impossible_times_are_refused)
{
    check_tampered("UPDATE sample SET duration_ns = -1", "duration_ns");
    check_tampered("UPDATE sample SET start_ns = 9223372036854775807",
                   "start_ns");
    check_tampered("UPDATE stat SET total_ns = -5", "total_ns");
    check_tampered("UPDATE stat SET total_ns = 2305843009213693952", "add up");
    check_tampered("UPDATE point SET total_ns = 2305843009213693952", "add up");
    check_tampered("UPDATE stat SET total_ns = 1e300", "total_ns");
    check_tampered("UPDATE stat SET total_ns = 'long'", "total_ns");
    check_tampered("UPDATE iteration SET duration_ns = -1", "duration_ns");
    check_tampered("UPDATE meta SET value = -1 WHERE key = 'duration_ns'",
                   "table meta");
}

TEST(contradictory_statistics_are_refused)
{
    check_tampered("UPDATE stat SET calls = calls + 1", "call_sketch");
    check_tampered("UPDATE stat SET iterations = -1", "iterations");
    check_tampered("UPDATE stat SET call_min_ns = call_max_ns + 1",
                   "call_max_ns");
    check_tampered("UPDATE stat SET call_mean_ns = call_max_ns * 2 + 10",
                   "contradict");
    check_tampered("UPDATE stat SET call_m2 = -1", "contradict");
    check_tampered("UPDATE stat SET call_m2 = 9e999", "contradict");
    check_tampered("UPDATE stat SET stride = 3", "power of two");
    check_tampered("UPDATE stat SET stride = 0", "stride");
    check_tampered("UPDATE point SET calls = 0", "calls");
    check_tampered("INSERT INTO point SELECT 0, 5000 + id, 1, 1, 1 FROM scope",
                   "more points than iterations");
    check_tampered("INSERT INTO counter_point VALUES(1, 0, 0)",
                   "more points than values");
}

/* Written down as version 6 was: never to be changed with the code. */
#define VERSION_6                                                              \
    "ALTER TABLE sample ADD COLUMN queued_ns INTEGER;"                         \
    "CREATE TABLE scope_text(scope INTEGER PRIMARY KEY,"                       \
    " shapes TEXT NOT NULL, kernel TEXT NOT NULL);"                            \
    "CREATE TABLE memory_space(id INTEGER PRIMARY KEY, space TEXT NOT NULL,"   \
    " category TEXT NOT NULL, live_bytes INTEGER NOT NULL,"                    \
    " peak_bytes INTEGER NOT NULL, at_peak_bytes INTEGER NOT NULL);"           \
    "PRAGMA user_version = 6;"

TEST(a_file_of_version_6_is_read)
{
    const char *path = test_path("six.assay");
    struct error err = {0};
    struct run *run;

    save_good(path);
    execute(path, VERSION_6
            "UPDATE sample SET queued_ns = 70 WHERE rowid = 1;"
            "INSERT INTO scope_text VALUES(2, '1x3', 'gemm');"
            "INSERT INTO memory_space VALUES(0, 'cuda:0', '', -1, 9, 8);");
    OK(store_load(path, &run, &err));
    CHECK_STR(run_text(run, 2)->kernel, "gemm");
    CHECK_INT(run_space_find(run, "cuda:0", "")->live_bytes, -1);
    CHECK_INT(run_space_find(run, "cuda:0", "")->at_peak_bytes, 8);
    run_free(run);
}

TEST(impossible_launches_texts_and_memory_are_refused)
{
    check_tampered("PRAGMA user_version = 6", "no table scope_text");
    check_tampered(VERSION_6 "DROP TABLE memory_space",
                   "no table memory_space");
    check_tampered(VERSION_6 "UPDATE sample SET queued_ns = -1", "queued_ns");
    check_tampered(VERSION_6 "UPDATE sample SET queued_ns = 'x'", "queued_ns");
    check_tampered(VERSION_6 "INSERT INTO scope_text VALUES(99, '', '')",
                   "scope cannot be 99");
    check_tampered(VERSION_6 "INSERT INTO scope_text VALUES(1, 7, x'00')",
                   "table scope_text");
    check_tampered(VERSION_6
                   "INSERT INTO memory_space VALUES(0, 'a', '', 1, -1, 0)",
                   "peak_bytes");
    check_tampered(VERSION_6
                   "INSERT INTO memory_space VALUES(0, 'a', 'b', 1, 1, 0),"
                   " (1, 'a', 'b', 1, 1, 0)",
                   "twice");
}

TEST(impossible_work_is_refused)
{
    check_tampered("INSERT INTO work(scope) VALUES(99)", "scope cannot be 99");
    check_tampered("INSERT INTO work(scope) VALUES(-1)", "scope cannot be -1");
    check_tampered("UPDATE work SET macs = -1 WHERE scope = 2",
                   "table work, row 2");
    check_tampered("UPDATE work SET flops = -1e300", "flops");
    check_tampered("UPDATE work SET read_bytes = 9e999", "read_bytes");
    check_tampered("UPDATE work SET write_bytes = -9e999", "write_bytes");
    check_tampered("UPDATE work SET parameters = 'nan'", "not a number");
    check_tampered("UPDATE work SET macs = x'7ff8000000000000'",
                   "not a number");
    check_tampered("UPDATE work SET done_flops = -1", "done_flops");
    check_tampered("UPDATE work SET done_bytes = 9e999", "done_bytes");
    check_tampered("DROP VIEW scope_work; DROP TABLE work", "no table work");
}

TEST(impossible_series_are_refused)
{
    check_tampered("UPDATE series SET stride = 3", "stride of 3");
    check_tampered("UPDATE series SET stride = 0", "stride cannot be 0");
    check_tampered("UPDATE series SET stride = 2", "not one of a stride of 2");
    check_tampered("UPDATE series SET name = 'twice'", "twice");
    check_tampered("DELETE FROM series WHERE id = 1", "number should be 1");
    check_tampered("UPDATE series SET unit = x'61'", "not a text");
    check_tampered("UPDATE series_point SET series = series + 7", "series");
    check_tampered("UPDATE series_point SET series = -1 WHERE series = 0",
                   "series");
    check_tampered("UPDATE series_point SET iteration = 4294967295"
                   " WHERE iteration = 11",
                   "iteration");
    check_tampered("UPDATE series_point SET value = 9e999", "cannot be inf");
    check_tampered("UPDATE series_point SET value = 'high' WHERE series = 1",
                   "not a number");
    check_tampered("WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL"
                   " SELECT i + 1 FROM n WHERE i < 5000)"
                   " INSERT INTO series_point SELECT 1, i, 1 FROM n",
                   "more than 1000");
    check_tampered("DROP VIEW series_value; DROP TABLE series_point",
                   "no table series_point");
}

TEST(unknown_labels_are_refused)
{
    check_tampered("UPDATE series_point SET value = 2 WHERE series = 0",
                   "no label 2");
    check_tampered("UPDATE series_point SET value = -1 WHERE series = 0",
                   "no label -1");
    check_tampered("UPDATE series_point SET value = 0.5 WHERE series = 0",
                   "no label 0.5");
    check_tampered("DELETE FROM series_label WHERE i = 0", "label 0");
    check_tampered("UPDATE series_label SET series = 99", "series");
    check_tampered("UPDATE series_label SET label = x'00'", "not a text");
    check_tampered("UPDATE series_label SET i = 4294967295 WHERE i = 1", "i ");
}

TEST(impossible_owners_of_memory_are_refused)
{
    check_tampered("UPDATE ledger SET kind = 'magic'", "'magic'");
    check_tampered("UPDATE ledger SET kind = x'00'", "not a text");
    check_tampered("UPDATE ledger SET scope = 99", "scope cannot be 99");
    check_tampered("UPDATE ledger SET bytes = -1", "bytes cannot be -1");
    check_tampered("UPDATE ledger SET bytes = 9223372036854775807",
                   "more than there can be");
    check_tampered("UPDATE ledger SET what = x'61'", "not a text");
    check_tampered("DROP VIEW ledger_owner; DROP TABLE ledger",
                   "no table ledger");
}

TEST(work_done_by_nobody_or_in_circles_is_refused)
{
    check_tampered("UPDATE work SET done_by = 99", "done_by cannot be 99");
    check_tampered("UPDATE work SET done_by = -1", "done_by cannot be -1");
    check_tampered("UPDATE work SET done_by = 4294967295", "done_by");
    check_tampered("UPDATE work SET done_by = 1.5", "not a whole number");
    check_tampered("UPDATE work SET done_by = scope WHERE scope = 1",
                   "really does the work");
    check_tampered("UPDATE work SET done_by = 3 WHERE scope = 2",
                   "really does the work");
    check_tampered("UPDATE work SET done_by = scope % 3 + 1", "really does");
}

TEST(malformed_sketches_are_refused)
{
    /* Ends within a number; has an empty bucket; goes beyond the last bucket;
     * counts more than 64 bits; a number of more than 64 bits; a gap of 0. */
    check_tampered("UPDATE stat SET call_sketch = x'80'", "not a sketch");
    check_tampered("UPDATE stat SET call_sketch = x'0500'", "not a sketch");
    check_tampered("UPDATE stat SET call_sketch = x'801D01'", "not a sketch");
    check_tampered("UPDATE stat SET call_sketch ="
                   " x'05FFFFFFFFFFFFFFFFFF0101FFFFFFFFFFFFFFFFFF01'",
                   "not a sketch");
    check_tampered("UPDATE stat SET call_sketch = x'05FFFFFFFFFFFFFFFFFF7F'",
                   "not a sketch");
    check_tampered("UPDATE stat SET call_sketch = x'05010001'", "not a sketch");
    check_tampered("UPDATE stat SET call_sketch = zeroblob(1000000)",
                   "not a sketch");
    check_tampered("UPDATE stat SET call_sketch = 'text'", "not a blob");
    check_tampered("UPDATE stat SET call_sketch = x''", "call_sketch");
}

TEST(malformed_texts_are_refused)
{
    check_tampered("UPDATE scope SET name = CAST(x'610062' AS TEXT)",
                   "has a NUL in it");
    check_tampered("UPDATE fact SET value = CAST(x'00' AS TEXT)", "NUL");
    check_tampered("UPDATE thread SET name = x'61'", "not a text");
    check_tampered("UPDATE thread SET kind = 'gpu'", "gpu");
    check_tampered("UPDATE counter SET name = 7.5e0; UPDATE counter SET"
                   " name = x'00'",
                   "not a text");
}

/* No code in the file is run. */
TEST(views_and_computed_columns_posing_as_tables_are_refused)
{
    check_tampered("ALTER TABLE scope RENAME TO hidden;"
                   "CREATE VIEW scope AS SELECT * FROM hidden",
                   "no table scope");
    check_tampered("DROP VIEW sample_time; DROP TABLE sample;"
                   "CREATE VIRTUAL TABLE sample USING fts4(scope, phase)",
                   "no table sample");
    check_tampered("DROP TABLE fact; CREATE TABLE fact(key TEXT,"
                   " value TEXT AS (hex(zeroblob(1000000))))",
                   "computed columns");
    check_tampered("DROP TABLE fact; CREATE TABLE fact(key TEXT)", "damaged");
}

TEST(points_out_of_order_are_refused)
{
    check_tampered("DROP VIEW scope_point; DROP TABLE point;"
                   "CREATE TABLE point(stat, iteration, calls, total_ns,"
                   " self_ns);"
                   "INSERT INTO point VALUES(1, 2, 1, 1, 1), (1, 1, 1, 1, 1)",
                   "out of order");
}

TEST(a_million_surplus_rows_are_refused_quickly)
{
    check_tampered("WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL"
                   " SELECT i + 1 FROM n WHERE i < 1000000)"
                   " INSERT INTO iteration SELECT i, 0, i, 1 FROM n",
                   "more than 1000");
}

/* ---- damage ----------------------------------------------------------- */

TEST(a_file_cut_off_anywhere_is_refused)
{
    size_t n;
    const char *bytes = good_bytes(&n);

    for (size_t cut = 1; cut < n; cut += 1021) {
        write_file(test_path("cut.assay"), bytes, cut);
        check_refused(test_path("cut.assay"), ASSAY_BAD_INPUT, "cut.assay");
    }
    write_file(test_path("cut.assay"), bytes, n - 1);
    check_refused(test_path("cut.assay"), ASSAY_BAD_INPUT, "is cut off");
}

/* Any answer will do; the sanitizers watch for crashes. */
TEST(a_file_with_any_byte_changed_is_read_or_refused)
{
    size_t n, n_refused = 0;
    const char *good = good_bytes(&n);
    char *bytes = malloc(n);

    CHECK(bytes != NULL);
    memcpy(bytes, good, n);
    for (size_t i = 0; i < n; i += 37) {
        struct error err = {0};
        struct run *run;

        bytes[i] = (char)~bytes[i];
        write_file(test_path("bit.assay"), bytes, n);
        bytes[i] = (char)~bytes[i];
        if (store_load(test_path("bit.assay"), &run, &err)) {
            n_refused++;
            CHECK(run == NULL && err.text[0]);
        }
        run_free(run);
    }
    CHECK(n_refused > 0);
    free(bytes);
}

/* Its schema is a tree of 12 levels in which all 61 children of a page are the
 * same page: 61^12 rows, which the sqlite3 shell starts to read. */
TEST(a_file_whose_pages_form_a_loop_is_refused)
{
    check_refused(TEST_SOURCE_DIR "/tests/store/loop.db", ASSAY_BAD_INPUT,
                  "form a loop");
}

/* Ends with the mark of a journal that names another file. */
TEST(a_journal_that_would_delete_another_file_is_not_played_back)
{
    static const char journal[] =
        "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7\0\0\0\1\0\0\0\0\0\0\0\1\0\0\2\0"
        "\0\0\x10\0 victim \xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    const char *path = test_path("trap.assay.part");

    save_good(path);
    write_file(test_path("trap.assay.part-journal"), journal,
               sizeof journal - 1);
    check_refused(path, ASSAY_BAD_INPUT, "journal that is not its own");
}
