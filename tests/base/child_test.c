/* What base/child.h promises. */
#include "base/child.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct child_options plain = {.what = "a test"};

static void double_it(void *context, int line)
{
    int value = 0;

    if (child_receive(line, &value, sizeof value, 0) == CHILD_TOLD) {
        value = value * 2 + *(const int *)context;
        child_send(line, &value, sizeof value, 0);
    }
}

TEST(a_child_gets_a_block_and_answers)
{
    struct error err = {0};
    int value = 20, extra = 2;
    struct child child;

    CHECK_STATUS(child_start(&child, &plain, double_it, &extra, &err), ASSAY_OK,
                 &err);
    CHECK_INT(child_send(child.line, &value, sizeof value, 10), CHILD_TOLD);
    CHECK_INT(child_receive(child.line, &value, sizeof value, 10), CHILD_TOLD);
    CHECK_INT(value, 42);
    CHECK_INT(child_end(&child, false, NULL), 0);
    CHECK_INT(child.pid, 0);
}

static void send_much(void *context, int line)
{
    size_t n = *(const size_t *)context;
    char *bytes = calloc(n, 1);

    bytes[n - 1] = 7;
    child_send(line, bytes, n, 0);
    free(bytes);
}

TEST(a_block_larger_than_the_socket_holds_arrives_whole)
{
    size_t n = (size_t)8 << 20;
    char *bytes = malloc(n);
    struct child child;

    CHECK_INT(child_start(&child, &plain, send_much, &n, NULL), ASSAY_OK);
    CHECK_INT(child_receive(child.line, bytes, n, 60), CHILD_TOLD);
    CHECK_INT(bytes[n - 1], 7);
    child_end(&child, false, NULL);
    free(bytes);
}

static void stay_silent(void *context, int line)
{
    (void)context;
    (void)line;
    for (;;)
        pause();
}

TEST(a_silent_child_is_late_and_can_be_killed)
{
    struct child child;
    int status;
    char byte;

    CHECK_INT(child_start(&child, &plain, stay_silent, NULL, NULL), ASSAY_OK);
    CHECK_INT(child_receive(child.line, &byte, 1, 0.01), CHILD_LATE);
    status = child_end(&child, true, NULL);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void crash(void *context, int line)
{
    (void)context;
    (void)line;
    raise(SIGSEGV);
}

static void catch_nothing(int number)
{
    (void)number;
}

/* This program's handler must not keep the child alive. */
TEST(a_signal_ends_the_child_alone)
{
    struct sigaction action = {.sa_handler = catch_nothing}, before;
    struct child child;
    int status;
    char byte = 1;

    sigaction(SIGSEGV, &action, &before);
    CHECK_INT(child_start(&child, &plain, crash, NULL, NULL), ASSAY_OK);
    CHECK_INT(child_receive(child.line, &byte, 1, 60), CHILD_GONE);
    CHECK_INT(child_send(child.line, &byte, 1, 60), CHILD_GONE);
    status = child_end(&child, false, NULL);
    sigaction(SIGSEGV, &before, NULL);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void hang_up(void *context, int line)
{
    bool is_alive = true;

    (void)context;
    raise(SIGHUP);
    child_send(line, &is_alive, sizeof is_alive, 0);
}

/* As under nohup; this program's own handlers are not inherited. */
TEST(an_ignored_hangup_does_not_end_the_child)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    struct sigaction action = {.sa_handler = catch_nothing};
    struct child child;
    bool is_alive = false;
    int status;

    sigaction(SIGHUP, &ignore, &before);
    CHECK_INT(child_start(&child, &plain, hang_up, NULL, NULL), ASSAY_OK);
    CHECK_INT(child_receive(child.line, &is_alive, sizeof is_alive, 60),
              CHILD_TOLD);
    CHECK(is_alive);
    CHECK_INT(child_end(&child, false, NULL), 0);

    sigaction(SIGHUP, &action, NULL);
    CHECK_INT(child_start(&child, &plain, hang_up, NULL, NULL), ASSAY_OK);
    status = child_end(&child, false, NULL);
    sigaction(SIGHUP, &before, NULL);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
}

static void take_memory(void *context, int line)
{
    size_t bytes = *(const size_t *)context;
    void *block = malloc(bytes);
    bool is_there = block != NULL;

    child_send(line, &is_there, sizeof is_there, 0);
    free(block);
}

TEST(a_child_gets_no_more_memory_than_its_limit)
{
    struct child_options options = plain;
    size_t wanted = (size_t)3 << 30;
    bool is_there;

    if (TEST_IS_SANITIZED)
        SKIP("a sanitizer needs more memory than any limit");

    for (int limited = 0; limited < 2; limited++) {
        struct child child;

        options.data_bytes = limited ? (unsigned long)1 << 30 : 0;
        CHECK_INT(child_start(&child, &options, take_memory, &wanted, NULL),
                  ASSAY_OK);
        CHECK_INT(child_receive(child.line, &is_there, sizeof is_there, 60),
                  CHILD_TOLD);
        CHECK_INT(is_there, !limited);
        child_end(&child, false, NULL);
    }
}

static void tell_pid_and_stay(void *context, int line)
{
    pid_t own = getpid();

    (void)context;
    child_send(line, &own, sizeof own, 0);
    stay_silent(NULL, line);
}

static void be_a_parent(void *context, int line)
{
    struct child child;
    pid_t grandchild = 0;

    (void)context;
    child_start(&child, &plain, tell_pid_and_stay, NULL, NULL);
    child_receive(child.line, &grandchild, sizeof grandchild, 0);
    child_send(line, &grandchild, sizeof grandchild, 0);
    stay_silent(NULL, line);
}

TEST(a_child_dies_with_its_parent)
{
    pid_t grandchild = 0;
    struct child child;

    CHECK_INT(child_start(&child, &plain, be_a_parent, NULL, NULL), ASSAY_OK);
    CHECK_INT(child_receive(child.line, &grandchild, sizeof grandchild, 60),
              CHILD_TOLD);
    child_end(&child, true, NULL);
    /* It is somebody else's zombie for a moment at most; a living one stays
     * and the test ends at its time limit. */
    while (kill(grandchild, 0) == 0)
        usleep(1000);
    CHECK_INT(errno, ESRCH);
}

#ifdef _OPENMP
static int count_threads(void)
{
    int n = 0;

#pragma omp parallel num_threads(4) reduction(+ : n)
    n++;
    return n;
}

static void count_in_child(void *context, int line)
{
    int n = count_threads();

    (void)context;
    child_send(line, &n, sizeof n, 0);
}

TEST(a_child_can_use_openmp_after_its_parent_did)
{
    struct child child;
    int n = count_threads();

    CHECK_INT(n, 4);
    n = 0;
    CHECK_INT(child_start(&child, &plain, count_in_child, NULL, NULL),
              ASSAY_OK);
    CHECK_INT(child_receive(child.line, &n, sizeof n, 60), CHILD_TOLD);
    CHECK_INT(n, 4);
    child_end(&child, false, NULL);
}
#endif
