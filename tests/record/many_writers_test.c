/* tests/record/many_writers_test.c - programs that record into one path at the
 * same time, and what the last one leaves. */
#include "recorded.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { n_writers = 12, n_rounds = 20 };

/* Records as many iterations as its number says; all of them stop at about the
 * same time. The exit code is assay_stop()'s result. */
_Noreturn static void record_numbered(int number, int go)
{
    struct assay_error error = {0};
    char name[16], byte;

    snprintf(name, sizeof name, "%d", number);
    if (assay_start(test_path("shared.assay"), NULL, &error))
        _exit(100);
    assay_fact("who", name);
    for (int i = 0; i < number; i++) {
        assay_iteration_begin();
        assay_begin("step");
        assay_end();
        assay_iteration_end();
    }
    if (read(go, &byte, 1) != 0) /* until the other end is closed */
        _exit(101);
    _exit((int)assay_stop(&error));
}

/* They stop when the answer is closed. */
static int start_writers(pid_t pids[n_writers])
{
    int ends[2];

    (void)test_path(""); /* one folder for all of them */
    CHECK_INT(pipe(ends), 0);
    for (int i = 0; i < n_writers; i++) {
        pids[i] = fork();
        CHECK(pids[i] >= 0);
        if (pids[i] == 0) {
            close(ends[1]);
            record_numbered(i + 1, ends[0]);
        }
    }
    close(ends[0]);
    return ends[1];
}

/* Whose run it is, and whether it is complete. */
static int writer_of(const struct run *run)
{
    const char *who = run_fact(run, "who");
    int number;

    CHECK(who != NULL);
    number = (int)strtol(who, NULL, 10);
    CHECK(!run_health_of(run)->is_incomplete);
    CHECK_INT(run_iteration_count(run), number);
    CHECK_INT(stats_of(run, "step").calls, number);
    return number;
}

TEST(the_last_of_twelve_writers_wins_completely_and_each_gets_the_right_status)
{
    for (int round = 0; round < n_rounds; round++) {
        struct error err = {0};
        pid_t pids[n_writers];
        struct run *run;
        int status, winner;

        close(start_writers(pids));
        for (int i = 0; i < n_writers; i++) {
            CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
            CHECK_INT(status, 0);
        }
        CHECK_STATUS(store_load(test_path("shared.assay"), &run, &err),
                     ASSAY_OK, &err);
        winner = writer_of(run);
        CHECK(winner >= 1 && winner <= n_writers);
        run_free(run);
        CHECK_INT(test_part_count("shared.assay"), 0);
        CHECK_INT(unlink(test_path("shared.assay")), 0);
    }
}

TEST(a_writer_that_is_killed_takes_nothing_from_the_others)
{
    struct error err = {0};
    pid_t pids[n_writers];
    struct run *run;
    int status, go = start_writers(pids);

    for (int i = 0; i < n_writers - 1; i++) {
        CHECK_INT(kill(pids[i], SIGKILL), 0);
        CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
    }
    close(go);
    CHECK_INT(waitpid(pids[n_writers - 1], &status, 0), pids[n_writers - 1]);
    CHECK_INT(status, 0);
    CHECK_STATUS(store_load(test_path("shared.assay"), &run, &err), ASSAY_OK,
                 &err);
    CHECK_INT(writer_of(run), n_writers);
    run_free(run);
}
