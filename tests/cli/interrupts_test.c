/* What cli/interrupt.h promises of signals that come together. */
#include "cli/interrupt.h"
#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { survived = 7 };

static void check_survived(int status)
{
    CHECK_INT(WIFSIGNALED(status) ? WTERMSIG(status) : 0, 0);
    CHECK_INT(WEXITSTATUS(status), survived);
}

static int pipe_ends[2], told_ends[2];

/* The second signal is there, or comes next. */
static void tell_reader(void)
{
    if (write(told_ends[1], "", 1) != 1)
        _exit(1);
}

/* Standard error becomes a pipe that is full, until the parent reads. */
static void watch_while_output_waits(void)
{
    static const char block[512];

    close(pipe_ends[0]);
    fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK);
    while (write(pipe_ends[1], block, sizeof block) > 0)
        ;
    fcntl(pipe_ends[1], F_SETFL, 0);
    dup2(pipe_ends[1], STDERR_FILENO);
    interrupt_watch();
}

static void take_in_turn(void)
{
    sigset_t both, before;

    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    raise(SIGINT);
    raise(SIGTERM);
    tell_reader();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void *raise_later(void *unused)
{
    usleep(150000);
    raise(SIGTERM);
    tell_reader();
    return unused;
}

static void take_on_two_threads(void)
{
    pthread_t other;

    if (pthread_create(&other, NULL, raise_later, NULL))
        _exit(1);
    raise(SIGINT);
    pthread_join(other, NULL);
}

/* Once both signals are there, and longer after that than a terminal's two
 * signals lie apart; if they came in the other order, the one that would tell
 * waits for this. */
static void *read_late(void *unused)
{
    enum { longest_ms = 2000 };
    struct pollfd told = {.fd = told_ends[0], .events = POLLIN};
    char block[4096];

    poll(&told, 1, longest_ms);
    usleep(150000);
    while (read(pipe_ends[0], block, sizeof block) > 0)
        ;
    return unused;
}

static void check_child_with(void (*signals)(void))
{
    pthread_t reader;
    pid_t child;
    int status;

    CHECK_INT(pipe(pipe_ends), 0);
    CHECK_INT(pipe(told_ends), 0);
    child = fork();
    if (child == 0) {
        watch_while_output_waits();
        signals();
        _exit(survived);
    }
    CHECK(child > 0);
    close(pipe_ends[1]);
    CHECK_INT(pthread_create(&reader, NULL, read_late, NULL), 0);
    CHECK_INT(waitpid(child, &status, 0), child);
    pthread_join(reader, NULL);
    close(pipe_ends[0]);
    close(told_ends[0]);
    close(told_ends[1]);
    check_survived(status);
}

TEST(signals_that_come_together_are_one_on_a_terminal_that_waits)
{
    check_child_with(take_in_turn);
}

TEST(a_signal_that_comes_before_the_first_is_answered_is_the_same)
{
    check_child_with(take_on_two_threads);
}
