/* tests/record/process_test.c - forks, exits and crashes while recording. */
#include "recorded.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

static void record_one(const char *name)
{
    assay_begin(name);
    assay_end();
}

/* LeakSanitizer asks this at the end of a process. In a forked child it would
 * wait for locks that threads of the parent held, and miss their stacks. */
static bool is_forked;
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
    return is_forked;
}

/* How the child that runs body() ended. */
static int status_of_child(void (*body)(void))
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        is_forked = true;
        body();
        _exit(0);
    }
    CHECK(child > 0);
    CHECK_INT(waitpid(child, &status, 0), child);
    return status;
}

static struct run *load_file(const char *path)
{
    struct error err = {0};
    struct run *run;

    CHECK_STATUS(store_load(path, &run, &err), ASSAY_OK, &err);
    return run;
}

static struct run *load(const char *name)
{
    return load_file(test_path(name));
}

static void record_in_forked_child(void)
{
    for (int i = 0; i < 20000; i++)
        record_one("child");
    assay_thread("child");
    assay_fact("who", "child");
    if (assay_is_recording() ||
        record_start(test_path("child.assay"), NULL, NULL) != ASSAY_UNSUPPORTED)
        _exit(1);
    exit(0); /* with the handlers that stop a recording */
}

TEST(after_a_fork_the_parent_goes_on_recording_and_the_child_does_not)
{
    struct run *run;

    recorded_start(NULL);
    record_one("before");
    CHECK_INT(status_of_child(record_in_forked_child), 0);
    CHECK(test_part_count("run.assay"));
    CHECK(access(test_path("run.assay"), F_OK) != 0);
    record_one("after");
    run = recorded_stop();
    CHECK_INT(stats_of(run, "before").calls, 1);
    CHECK_INT(stats_of(run, "after").calls, 1);
    CHECK_INT(scope_at(run, "child"), RUN_NONE);
    CHECK(run_fact(run, "who") == NULL);
    run_free(run);
}

/* Everything that a program can record, and the exit handlers. */
static void tell_all_in_child(void)
{
    assay_lane_t queue = assay_lane_open("child queue", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope_path("child.scope", "Child");
    struct assay_error error = {0};
    int64_t now = assay_clock_ns();

    if (assay_is_recording())
        _exit(1);
    assay_begin_scope(scope);
    assay_work(&(struct assay_work){.macs = 1, .kernel = "child"});
    assay_end();
    assay_span_at(queue, scope, now, now + 1, NULL);
    assay_memory("child", ASSAY_MEMORY_WEIGHTS, 1);
    assay_bytes(1);
    assay_counter("child", NULL, 1);
    assay_fact("child", "was here");
    if (assay_start(test_path("run.assay"), NULL, &error) !=
            ASSAY_UNSUPPORTED ||
        !strstr(error.text, "a forked child cannot record") || assay_stop(NULL))
        _exit(2);
    exit(0);
}

static atomic_bool is_over;

static void *record_meanwhile(void *n_spans)
{
    assay_lane_t queue = assay_lane_open("queue", ASSAY_LANE_DEVICE);
    assay_scope_t scope = assay_scope_path("meanwhile", NULL);
    uint64_t n = 0;

    while (!atomic_load(&is_over)) {
        int64_t now = assay_clock_ns();

        assay_begin_scope(scope);
        assay_memory("queue", ASSAY_MEMORY_SCRATCH, 8);
        assay_memory("queue", ASSAY_MEMORY_SCRATCH, -8);
        assay_end();
        assay_span_at(queue, scope, now, now + 1, NULL);
        n++;
    }
    *(uint64_t *)n_spans = n;
    return NULL;
}

TEST(children_forked_while_threads_record_neither_hang_nor_leave_anything)
{
    enum { n_threads = 3, n_children = 20 };
    pthread_t threads[n_threads];
    uint64_t spans[n_threads] = {0}, sum = 0;
    struct scope_stats device;
    struct run *run;

    atomic_store(&is_over, false);
    recorded_start(NULL);
    for (int i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, record_meanwhile, &spans[i]);
    for (int i = 0; i < n_children; i++) {
        assay_begin("around");
        CHECK_INT(status_of_child(tell_all_in_child), 0);
        assay_end();
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        sum += spans[i];
    }
    run = recorded_stop();
    CHECK_INT(stats_of(run, "around").calls, n_children);
    CHECK_INT(stats_of(run, "meanwhile").calls, sum);
    CHECK_INT(run_scope_device_stats(run, scope_at(run, "meanwhile"), RUN_ANY,
                                     &device, NULL),
              ASSAY_OK);
    CHECK_INT(device.calls, sum);
    CHECK_INT(run_space_find(run, "queue", "")->live_bytes, 0);
    CHECK_INT(scope_at(run, "child"), RUN_NONE);
    CHECK(run_space_find(run, "child", "") == NULL);
    CHECK(run_fact(run, "child") == NULL);
    CHECK_INT(run_health_of(run)->lost_spans, 0);
    CHECK(!test_part_count("run.assay"));
    run_free(run);
}

static void start_in_child(const char *name)
{
    if (record_start(test_path(name), NULL, NULL))
        _exit(9);
}

static void die_while_recording(void)
{
    start_in_child("killed.assay");
    record_one("drained");
    /* The writer checkpoints once per second: wait until it has. */
    for (;;) {
        struct run *run = NULL;
        bool is_there =
            store_load(test_part("killed.assay"), &run, NULL) == ASSAY_OK &&
            scope_at(run, "drained") != RUN_NONE;

        run_free(run);
        if (is_there)
            break;
        usleep(50000);
    }
    assay_begin("cut off");
    raise(SIGKILL);
}

TEST(a_killed_program_leaves_what_was_drained)
{
    int status = status_of_child(die_while_recording);
    struct run *run;

    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(access(test_path("killed.assay"), F_OK) != 0);
    run = load_file(test_part("killed.assay"));
    CHECK(run_health_of(run)->is_incomplete);
    CHECK_INT(stats_of(run, "drained").calls, 1);
    run_free(run);
}

static void die_at_once(void)
{
    start_in_child("early.assay");
    raise(SIGKILL);
}

TEST(a_program_killed_right_after_the_start_leaves_a_readable_file)
{
    struct run *run;

    CHECK(WIFSIGNALED(status_of_child(die_at_once)));
    run = load_file(test_part("early.assay"));
    CHECK(run_health_of(run)->is_incomplete);
    CHECK(run_fact(run, "machine.cores") != NULL);
    run_free(run);
}

static void exit_while_recording(void)
{
    start_in_child("exit.assay");
    assay_begin("main");
    record_one("step");
    exit(0);
}

TEST(exit_without_a_stop_finishes_the_run)
{
    struct run *run;

    CHECK_INT(status_of_child(exit_while_recording), 0);
    CHECK(!test_part_count("exit.assay"));
    run = load("exit.assay");
    CHECK(!run_health_of(run)->is_incomplete);
    CHECK_INT(run_health_of(run)->open_at_end, 1);
    CHECK_INT(stats_of(run, "main.step").calls, 1);
    run_free(run);
}

static void *exit_in_thread(void *unused)
{
    assay_begin("thread");
    exit(0);
    return unused;
}

static void exit_from_a_thread(void)
{
    pthread_t thread;

    start_in_child("thread.assay");
    assay_begin("main");
    if (pthread_create(&thread, NULL, exit_in_thread, NULL))
        _exit(8);
    for (;;)
        pause();
}

TEST(exit_on_another_thread_finishes_the_run)
{
    struct run *run;

    CHECK_INT(status_of_child(exit_from_a_thread), 0);
    run = load("thread.assay");
    CHECK_INT(run_health_of(run)->open_at_end, 2);
    CHECK_INT(stats_of(run, "thread").calls, 1);
    run_free(run);
}
