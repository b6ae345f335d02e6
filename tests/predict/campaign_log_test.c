/* The log of a campaign: what it holds, who writes it, and what SQLite may
 * touch next to it. */
#include "predict/campaign.h"

#include "campaign_case.h"
#include "test.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct campaign_test some_test = {.framework = FRAMEWORK_ASSAY,
                                               .network = "a",
                                               .file = "a_0.net",
                                               .batch = 4};
static const struct campaign_result some_result = {.is_passed = true,
                                                   .latency_ms = 3};

static void make_log(const char *path)
{
    struct campaign_log *log;
    struct error err = {0};

    CHECK_STATUS(campaign_log_open(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_add(log, &some_test, &some_result, false, &err),
                 ASSAY_OK, &err);
    campaign_log_close(log);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;

    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* ---- its contents -------------------------------------------------------- */

/* As the first version of this program wrote them. */
TEST(a_log_without_rounds_reads_as_one_round)
{
    const char *path = test_path("first_version.sqlite");
    struct campaign_result before;
    struct campaign_log *log;
    struct error err = {0};

    make_log(path);
    execute(path, "ALTER TABLE test DROP COLUMN rounds;"
                  "ALTER TABLE test DROP COLUMN lane;"
                  "ALTER TABLE test DROP COLUMN machine;"
                  "PRAGMA user_version = 1");
    CHECK_STATUS(campaign_log_open(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_find(log, &some_test, &before, &err), ASSAY_OK,
                 &err);
    CHECK_INT(before.n_rounds, 1);
    CHECK(before.is_passed);
    campaign_log_close(log);
}

static enum assay_status take_machine(void *context,
                                      const struct campaign_test *test,
                                      const struct campaign_result *result,
                                      struct error *err)
{
    (void)test;
    (void)err;
    memcpy(context, result->machine, sizeof result->machine);
    return ASSAY_OK;
}

static enum assay_status count_framework(void *context,
                                         const struct campaign_test *test,
                                         const struct campaign_result *result,
                                         struct error *err)
{
    size_t *counts = context;

    (void)result;
    (void)err;
    counts[test->framework]++;
    return ASSAY_OK;
}

/* As the third version wrote them, without a framework. */
TEST(a_test_is_another_one_in_another_framework)
{
    const char *path = test_path("third_version.sqlite");
    struct campaign_test in_torch = some_test;
    struct campaign_result before;
    struct campaign_log *log;
    size_t counts[N_FRAMEWORKS] = {0};
    struct error err = {0};

    make_log(path);
    execute(path, "CREATE TABLE old AS SELECT * FROM test; DROP TABLE test;"
                  "ALTER TABLE old DROP COLUMN framework;"
                  "ALTER TABLE old RENAME TO test; PRAGMA user_version = 3");
    in_torch.framework = FRAMEWORK_TORCH;
    CHECK_STATUS(campaign_log_read(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_find(log, &some_test, &before, &err), ASSAY_OK,
                 &err);
    CHECK_INT(before.n_rounds, 1);
    CHECK_STATUS(campaign_log_find(log, &in_torch, &before, &err), ASSAY_OK,
                 &err);
    CHECK_INT(before.n_rounds, 0);
    campaign_log_close(log);
    CHECK_STATUS(campaign_log_open(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_add(log, &in_torch, &some_result, false, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_each(log, count_framework, counts, &err),
                 ASSAY_OK, &err);
    CHECK_INT(counts[FRAMEWORK_ASSAY], 1);
    CHECK_INT(counts[FRAMEWORK_TORCH], 1);
    campaign_log_close(log);
}

static enum assay_status take_units(void *context,
                                    const struct campaign_test *test,
                                    const struct campaign_result *result,
                                    struct error *err)
{
    (void)test;
    (void)err;
    *(double *)context += result->multiprocessors;
    return ASSAY_OK;
}

/* As the fourth version wrote them. */
TEST(a_log_says_how_many_multiprocessors_a_gpu_has_if_it_is_new_enough)
{
    const char *path = test_path("fourth_version.sqlite");
    struct campaign_test other = some_test;
    struct campaign_result result = {.is_passed = true, .multiprocessors = 132};
    struct campaign_log *log;
    struct error err = {0};
    double units = 0;

    make_log(path);
    execute(path, "ALTER TABLE test DROP COLUMN multiprocessors;"
                  "PRAGMA user_version = 4");
    CHECK_STATUS(campaign_log_read(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_each(log, take_units, &units, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(units, 0, 0);
    campaign_log_close(log);
    other.batch++;
    CHECK_STATUS(campaign_log_open(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_add(log, &other, &result, false, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(campaign_log_each(log, take_units, &units, &err), ASSAY_OK,
                 &err);
    CHECK_NEAR(units, 132, 0);
    campaign_log_close(log);
}

/* As the second version wrote them. */
TEST(a_log_says_what_ran_its_tests_if_it_is_new_enough)
{
    const char *path = test_path("second_version.sqlite");
    struct campaign_test other = some_test;
    struct campaign_result result = {.is_passed = true};
    struct campaign_log *log;
    struct error err = {0};
    char machine[96] = "?";

    make_log(path);
    execute(path, "ALTER TABLE test DROP COLUMN machine;"
                  "PRAGMA user_version = 2");
    CHECK_STATUS(campaign_log_read(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_each(log, take_machine, machine, &err), ASSAY_OK,
                 &err);
    CHECK_STR(machine, "");
    campaign_log_close(log);
    CHECK_STATUS(campaign_log_open(path, &log, &err), ASSAY_OK, &err);
    other.batch = 1000; /* the last of them */
    snprintf(result.machine, sizeof result.machine, "a processor");
    CHECK_STATUS(campaign_log_add(log, &other, &result, false, &err), ASSAY_OK,
                 &err);
    CHECK_STATUS(campaign_log_each(log, take_machine, machine, &err), ASSAY_OK,
                 &err);
    CHECK_STR(machine, "a processor");
    campaign_log_close(log);
}

TEST(a_label_is_compared_with_the_name_of_the_machine)
{
    CHECK(machine_is_called("NVIDIA GeForce RTX 2080 Ti", "2080ti"));
    CHECK(machine_is_called("NVIDIA Jetson TX2", "tx2"));
    CHECK(!machine_is_called("Intel(R) Xeon(R) CPU @ 2.20GHz", "tx2"));
}

TEST(a_file_that_is_not_a_log_is_refused)
{
    const char *path = test_path("text.sqlite");
    struct campaign_log *log;
    struct error err = {0};

    case_write(path,
               "this is a text of more than a few bytes, and no database\n");
    CHECK_INT(campaign_log_open(path, &log, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "text.sqlite");
}

/* ---- two at once --------------------------------------------------------- */

/* A process that keeps the log open until it is killed. */
static pid_t start_holder(const char *path)
{
    struct campaign_log *log;
    int ready[2];
    char byte;
    pid_t pid;

    CHECK_INT(pipe(ready), 0);
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        if (campaign_log_open(path, &log, NULL) || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

TEST(a_second_campaign_on_one_log_learns_who_has_it)
{
    const char *path = test_path("one.sqlite");
    pid_t holder = start_holder(path);
    struct campaign_log *log;
    struct error err = {0};
    char words[64];

    CHECK_INT(campaign_log_open(path, &log, &err), ASSAY_IO);
    CHECK(log == NULL);
    snprintf(words, sizeof words, "in use by another campaign (pid %ld)",
             (long)holder);
    CHECK_HAS(err.text, words);
    CHECK_HAS(err.text, "one.sqlite");
    CHECK_HAS(err.text, "--shard K/N");

    CHECK_INT(kill(holder, SIGKILL), 0);
    CHECK_INT(waitpid(holder, NULL, 0), holder);
    make_log(path);
}

TEST(a_log_can_be_read_while_a_campaign_writes_it)
{
    const char *path = test_path("read.sqlite");
    struct campaign_log *log;
    struct error err = {0};
    struct campaign_result before;
    pid_t holder;

    make_log(path);
    holder = start_holder(path);
    CHECK_STATUS(campaign_log_read(path, &log, &err), ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_find(log, &some_test, &before, &err), ASSAY_OK,
                 &err);
    CHECK_INT(before.n_rounds, 1);
    campaign_log_close(log);
    CHECK_INT(kill(holder, SIGKILL), 0);
    CHECK_INT(waitpid(holder, NULL, 0), holder);
}

/* ---- databases of other programs ----------------------------------------- */

static size_t read_file(const char *path, char *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    CHECK(file != NULL);
    n = fread(bytes, 1, most, file);
    fclose(file);
    return n;
}

static void check_refused(enum assay_status st, const struct error *err)
{
    CHECK_STATUS(st, ASSAY_BAD_INPUT, err);
    CHECK_HAS(err->text, "a SQLite database of another program");
    CHECK_HAS(err->text, "places.sqlite");
}

TEST(the_database_of_another_program_is_not_touched)
{
    static char before[1 << 16], after[1 << 16];
    const char *path = test_path("places.sqlite");
    const char *own = test_path("own.sqlite");
    struct error opening = {0}, reading = {0}, joining = {0}, err = {0};
    struct campaign_log *log;
    size_t n, n_added;

    execute(path, "CREATE TABLE bookmarks(url TEXT)");
    n = read_file(path, before, sizeof before);
    check_refused(campaign_log_open(path, &log, &opening), &opening);
    check_refused(campaign_log_read(path, &log, &reading), &reading);
    CHECK_STATUS(campaign_log_open(own, &log, &err), ASSAY_OK, &err);
    check_refused(campaign_log_join(log, path, &n_added, &joining), &joining);
    campaign_log_close(log);
    CHECK_INT(read_file(path, after, sizeof after), n);
    CHECK(memcmp(before, after, n) == 0);
}

static enum assay_status count(void *context, const struct campaign_test *test,
                               const struct campaign_result *result,
                               struct error *err)
{
    size_t *n = context;

    (void)err;
    CHECK_STR(test->network, "a");
    CHECK_INT(result->n_rounds, 1);
    CHECK_NEAR(result->latency_ms, 3, 0);
    *n += 1;
    return ASSAY_OK;
}

/* As the first version wrote them; one that is only read does not change. */
TEST(an_old_log_is_joined_without_being_changed)
{
    static char before[1 << 16], after[1 << 16];
    const char *path = test_path("old.sqlite");
    struct campaign_log *log;
    struct error err = {0};
    size_t n, n_added, n_tests = 0;

    make_log(path);
    execute(path, "ALTER TABLE test DROP COLUMN rounds; ALTER TABLE test DROP "
                  "COLUMN lane; ALTER TABLE test DROP COLUMN machine;"
                  "PRAGMA user_version = 1");
    n = read_file(path, before, sizeof before);
    CHECK_STATUS(campaign_log_open(test_path("new.sqlite"), &log, &err),
                 ASSAY_OK, &err);
    CHECK_STATUS(campaign_log_join(log, path, &n_added, &err), ASSAY_OK, &err);
    CHECK_INT(n_added, 1);
    CHECK_STATUS(campaign_log_each(log, count, &n_tests, &err), ASSAY_OK, &err);
    CHECK_INT(n_tests, 1);
    campaign_log_close(log);
    CHECK_INT(read_file(path, after, sizeof after), n);
    CHECK(memcmp(before, after, n) == 0);
}

/* ---- files next to it ---------------------------------------------------- */

/* A journal that names another file, which SQLite would remove. Its last bytes
 * mark such a journal. */
TEST(a_journal_next_to_a_log_does_not_delete_a_file)
{
    static const unsigned char magic[] = {0xd9, 0xd5, 0x05, 0xf9,
                                          0x20, 0xa1, 0x63, 0xd7};
    const char *journal = test_path("trap.sqlite-journal");
    const char *victim = test_path("victim.txt");
    unsigned char bytes[1024] = {0}, *at = bytes + 512;
    uint32_t n = (uint32_t)strlen(victim), sum = 0;
    struct campaign_log *log;
    struct error err = {0};
    FILE *file;

    make_log(test_path("trap.sqlite"));
    CHECK_INT(symlink("trap.sqlite", test_path("link.sqlite")), 0);
    memcpy(bytes, magic, sizeof magic);
    memcpy(bytes + 8, "\xff\xff\xff\xff\0\0\0\0\0\x10\0\0\0\0\2\0\0\0\x10", 20);
    memcpy(at, "\0\4\0\1", 4); /* a page that does not exist */
    memcpy(at + 4, victim, n);
    for (uint32_t i = 0; i < n; i++)
        sum += (unsigned char)victim[i];
    for (int i = 0; i < 4; i++) {
        at[4 + n + (uint32_t)i] = (unsigned char)(n >> (24 - 8 * i));
        at[8 + n + (uint32_t)i] = (unsigned char)(sum >> (24 - 8 * i));
    }
    memcpy(at + 12 + n, magic, sizeof magic);
    file = fopen(journal, "wb");
    CHECK(file && fwrite(bytes, 532 + n, 1, file) == 1 && !fclose(file));
    file = fopen(victim, "wb");
    CHECK(file && fwrite("mine", 4, 1, file) == 1 && !fclose(file));

    CHECK_INT(campaign_log_open(test_path("link.sqlite"), &log, &err),
              ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "journal that is not its own");
    CHECK(access(victim, F_OK) == 0);
    CHECK(access(journal, F_OK) == 0);
}

/* If it waited, this test would not end. */
TEST(a_pipe_next_to_a_log_is_not_waited_for)
{
    const char *path = test_path("piped.sqlite");
    struct campaign_log *log;
    struct error err = {0};

    make_log(path);
    CHECK_INT(mkfifo(test_path("piped.sqlite-journal"), 0666), 0);
    CHECK_INT(campaign_log_open(path, &log, &err), ASSAY_BAD_INPUT);
    CHECK_HAS(err.text, "remove");
    CHECK_HAS(err.text, "piped.sqlite-journal");
}
