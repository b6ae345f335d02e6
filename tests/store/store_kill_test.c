/* tests/store/store_kill_test.c - a program killed at any moment leaves the
 * checkpoints it made. */
#include "runs.h"

#include "store/store.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { per_checkpoint = 60, samples_each = 30 };

/* Records for ever: every checkpoint has 60 more iterations and 30 more
 * samples, and thousands of others lie uncommitted in between. */
static void record(const char *path)
{
    struct sample samples[samples_each];
    struct run *run = rich_run(0);
    struct store_writer *writer;

    for (uint32_t i = 0; i < samples_each; i++)
        samples[i] = sample_at(1, i, i);
    if (store_open(path, &writer, NULL))
        _exit(1);
    for (uint32_t i = 0;; i += per_checkpoint) {
        count_iterations(run, i, per_checkpoint);
        run_forget_kept(run);
        if (store_append(writer, samples, samples_each, NULL) ||
            store_checkpoint(writer, run, NULL))
            _exit(2);
    }
}

static pid_t start(void (*body)(const char *), const char *path)
{
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        body(path);
        _exit(3);
    }
    return pid;
}

/* What was loaded is exactly one of the checkpoints. */
static void check_checkpoint(const struct run *run)
{
    uint64_t n = run_iteration_count(run);

    CHECK(run_health_of(run)->is_incomplete);
    CHECK_INT(n % per_checkpoint, 0);
    CHECK_INT(run_kept_count(run), n / per_checkpoint * samples_each);
    for (size_t i = 0; i < run_cell_count(run); i++) {
        const struct cell *cell = run_cell(run, i);

        if (cell->scope == RUN_ROOT)
            CHECK_INT(cell->calls.n, n);
    }
}

TEST(a_program_killed_at_any_moment_leaves_its_last_checkpoint)
{
    const char *path = test_path("kill.assay");
    const char *part = test_path("kill.assay.part");
    uint64_t most = 0;

    srand(1);
    for (int i = 0; i < 40; i++) {
        struct error err = {0};
        struct run *run;
        int status;
        pid_t pid;

        unlink(part);
        pid = start(record, path);
        while (access(part, F_OK))
            usleep(100);
        usleep(1000 + (useconds_t)(rand() % 40000));
        CHECK_INT(kill(pid, SIGKILL), 0);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status));
        if (store_load(part, &run, &err) != ASSAY_OK) {
            /* Killed before the empty file had its tables. */
            CHECK_HAS(err.text, "is empty");
            continue;
        }
        if (run_scope_count(run) > 1)
            check_checkpoint(run);
        if (run_iteration_count(run) > most)
            most = run_iteration_count(run);
        run_free(run);
    }
    CHECK(most > 0);
    CHECK(access(path, F_OK) != 0);
}

/* More than SQLite's cache holds is in the file already, and its journal is
 * needed to undo it. */
static void die_within_a_transaction(const char *path)
{
    enum { many = 200000 };
    struct run *run = rich_run(per_checkpoint);
    struct sample *samples = calloc(many, sizeof *samples);
    struct store_writer *writer;

    run_forget_kept(run);
    for (uint32_t i = 0; i < many; i++)
        samples[i] = sample_at(1, i, i);
    if (store_open(path, &writer, NULL) ||
        store_append(writer, samples, samples_each, NULL) ||
        store_checkpoint(writer, run, NULL) ||
        store_append(writer, samples, many, NULL))
        _exit(1);
    raise(SIGKILL);
}

TEST(a_journal_left_by_a_killed_program_is_played_back)
{
    struct error err = {0};
    struct run *run;
    int status;
    pid_t pid = start(die_within_a_transaction, test_path("hot.assay"));

    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFSIGNALED(status));
    CHECK(access(test_path("hot.assay.part-journal"), F_OK) == 0);
    OK(store_load(test_path("hot.assay.part"), &run, &err));
    CHECK_INT(run_iteration_count(run), per_checkpoint);
    check_checkpoint(run);
    run_free(run);
}

TEST(a_new_recording_does_not_take_the_journal_of_a_dead_one)
{
    struct run *run = rich_run(3), *loaded;
    struct store_writer *writer;
    struct error err = {0};
    int status;
    pid_t pid = start(die_within_a_transaction, test_path("two.assay"));

    CHECK_INT(waitpid(pid, &status, 0), pid);
    OK(store_open(test_path("two.assay"), &writer, &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    OK(store_load(test_path("two.assay"), &loaded, &err));
    check_same_run(run, loaded);
    run_free(loaded);
    run_free(run);
}
