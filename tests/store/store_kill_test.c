/* tests/store/store_kill_test.c - a program killed at any moment leaves the
 * checkpoints it made. */
#include "runs.h"

#include "base/claim.h"
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { per_checkpoint = 60, samples_each = 30 };

/* Records forever: every checkpoint has 60 more iterations and 30 more
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

static const char *journal_of(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s-journal", test_part(name));
    return path;
}

static bool has_journal(const char *name)
{
    return access(journal_of(name), F_OK) == 0;
}

static void remove_part(const char *name)
{
    unlink(journal_of(name));
    CHECK_INT(unlink(test_part(name)), 0);
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

/* The loaded run is exactly one of the checkpoints. */
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
    uint64_t most = 0;

    srand(1);
    for (int i = 0; i < 40; i++) {
        struct error err = {0};
        struct run *run;
        int status;
        pid_t pid;

        pid = start(record, path);
        while (!test_part_count("kill.assay"))
            usleep(100);
        usleep(1000 + (useconds_t)(rand() % 40000));
        CHECK_INT(kill(pid, SIGKILL), 0);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status));
        if (store_load(test_part("kill.assay"), &run, &err) != ASSAY_OK) {
            /* Killed before the empty file had its tables. */
            CHECK_HAS(err.text, "is empty");
            remove_part("kill.assay");
            continue;
        }
        remove_part("kill.assay");
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
    CHECK(has_journal("hot.assay"));
    OK(store_load(test_part("hot.assay"), &run, &err));
    CHECK_INT(run_iteration_count(run), per_checkpoint);
    check_checkpoint(run);
    run_free(run);
}

static void finish_run(const char *path)
{
    struct run *run = rich_run(3), *loaded;
    struct store_writer *writer;
    struct error err = {0};

    OK(store_open(path, &writer, &err));
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    OK(store_load(path, &loaded, &err));
    check_same_run(run, loaded);
    run_free(loaded);
    run_free(run);
}

/* Together with its journal. */
TEST(a_finished_run_removes_parts_of_dead_processes)
{
    int status;
    pid_t pid = start(die_within_a_transaction, test_path("two.assay"));
    char journal[4096];

    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(test_part_count("two.assay"));
    snprintf(journal, sizeof journal, "%s", journal_of("two.assay"));
    CHECK(access(journal, F_OK) == 0);
    finish_run(test_path("two.assay"));
    CHECK(!test_part_count("two.assay"));
    CHECK(access(journal, F_OK) != 0);
}

TEST(looking_for_an_unfinished_run_names_its_part)
{
    struct error err = {0};
    struct run *run;
    int status;
    pid_t pid = start(die_within_a_transaction, test_path("lost.assay"));

    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(store_load(test_path("lost.assay"), &run, &err), ASSAY_NOT_FOUND);
    CHECK_HAS(err.text, "No such file");
    CHECK_HAS(err.text, test_part("lost.assay"));
    err = (struct error){0};
    CHECK_INT(store_load(test_path("never.assay"), &run, &err),
              ASSAY_NOT_FOUND);
    CHECK(!strstr(err.text, "part"));
}

/* Until it is killed. */
static void hold_part(const char *path)
{
    struct store_writer *writer;

    if (store_open(path, &writer, NULL))
        _exit(1);
    for (;;)
        pause();
}

TEST(the_part_of_a_living_process_stays)
{
    pid_t pid = start(hold_part, test_path("alive.assay"));

    while (!test_part_count("alive.assay"))
        usleep(100);
    finish_run(test_path("alive.assay"));
    CHECK(test_part_count("alive.assay"));
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    finish_run(test_path("alive.assay"));
    CHECK(!test_part_count("alive.assay"));
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* 4194304 is beyond every process id: there is never such a process. */
TEST(only_files_that_are_certainly_ours_are_removed)
{
    static const char *const names[] = {
        "mine.assay.4194304-abcdef.part",  /* a text */
        "mine.assay.part",                 /* not a number */
        "mine.assay.4194304-abcde.part",   /* too short */
        "mine.assay.4194304-abcdefg.part", /* too long */
        "mine.assay.4194304-ABCDEF.part",  /* not our letters */
        "mine.assay.4194304-abcdef.parts", /* another ending */
        "mine.assays.4194304-abcdef.part", /* of another file */
        "mine.assay.-1-abcdef.part",       /* no such process */
    };
    char linked[] = "mine.assay.4194304-linked.part";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_text(test_path(names[i]), i ? "" : "a text of the user's");
    CHECK_INT(symlink("mine.assay.part", test_path(linked)), 0);
    finish_run(test_path("mine.assay"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(access(test_path(names[i]), F_OK) == 0);
    CHECK(access(test_path(linked), F_OK) == 0);
}

/* Either would do: a file system may know no locks, and a process may be one of
 * another machine. */
TEST(a_part_stays_if_its_process_lives_or_somebody_claims_it)
{
    char alive[64];
    int fd;
    pid_t holder;

    snprintf(alive, sizeof alive, "kept.assay.%ld-abcdef.part", (long)getpid());
    write_text(test_path(alive), "");
    write_text(test_path("kept.assay.4194304-claims.part"), "");
    write_text(test_path("kept.assay.4194304-abcdef.part"), "");
    fd = open(test_path("kept.assay.4194304-claims.part"), O_RDWR | O_CLOEXEC);
    CHECK(claim_take(fd, &holder));
    finish_run(test_path("kept.assay"));
    CHECK(access(test_path(alive), F_OK) == 0);
    CHECK(access(test_path("kept.assay.4194304-claims.part"), F_OK) == 0);
    CHECK(access(test_path("kept.assay.4194304-abcdef.part"), F_OK) != 0);
    close(fd);
}

/* A crash during a run is later than its beginning. */
TEST(a_part_newer_than_the_run_stays)
{
    struct run *run = rich_run(3);
    struct store_writer *writer;
    struct error err = {0};
    int status;
    pid_t pid;

    OK(store_open(test_path("young.assay"), &writer, &err));
    usleep(20000); /* the clock of a file system is coarse */
    pid = start(die_within_a_transaction, test_path("young.assay"));
    CHECK_INT(waitpid(pid, &status, 0), pid);
    OK(run_seal(run, &err));
    OK(store_finish(writer, run, &err));
    CHECK(test_part_count("young.assay"));
    run_free(run);
}
