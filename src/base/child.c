/* base/child.c - see child.h. */
#include "base/child.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the line ----------------------------------------------------------- */

static int64_t deadline_ns(double seconds)
{
    return seconds > 0 ? clock_monotonic_ns() + (int64_t)(seconds * 1e9)
                       : INT64_MAX;
}

/* False when time runs out. */
static bool wait_for(int line, short events, int64_t until_ns)
{
    for (;;) {
        struct pollfd poll_line = {.fd = line, .events = events};
        int wait_ms = -1, n;

        if (until_ns != INT64_MAX) {
            int64_t left_ns = until_ns - clock_monotonic_ns();

            if (left_ns <= 0)
                return false;
            wait_ms = left_ns / 1000000 < 60000 ? (int)(left_ns / 1000000) + 1
                                                : 60000;
        }
        n = poll(&poll_line, 1, wait_ms);
        if (n > 0 || (n < 0 && errno != EINTR))
            return true;
    }
}

enum child_told child_send(int line, const void *bytes, size_t n,
                           double seconds)
{
    int64_t until_ns = deadline_ns(seconds);
    const char *next = bytes;

    while (n > 0) {
        ssize_t sent = send(line, next, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent > 0) {
            next += sent;
            n -= (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            if (!wait_for(line, POLLOUT, until_ns))
                return CHILD_LATE;
        } else if (sent == 0 || errno != EINTR) {
            return CHILD_GONE;
        }
    }
    return CHILD_TOLD;
}

enum child_told child_receive(int line, void *bytes, size_t n, double seconds)
{
    int64_t until_ns = deadline_ns(seconds);
    char *next = bytes;

    while (n > 0) {
        ssize_t got = recv(line, next, n, MSG_DONTWAIT);

        if (got > 0) {
            next += got;
            n -= (size_t)got;
        } else if (got < 0 && errno == EAGAIN) {
            if (!wait_for(line, POLLIN, until_ns))
                return CHILD_LATE;
        } else if (got == 0 || errno != EINTR) {
            return CHILD_GONE;
        }
    }
    return CHILD_TOLD;
}

/* ---- in the child ------------------------------------------------------- */

/* Signals that a shell or nohup made this program ignore. */
static bool is_ignored(int number)
{
    struct sigaction action;

    return (number == SIGHUP || number == SIGINT) &&
           sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

/* The child does not use the program's signal handlers: signals kill it, and so
 * does its parent's death. */
static void become_mortal(const struct child_options *options, pid_t parent)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
                                  SIGINT,  SIGHUP, SIGTERM, SIGPIPE};
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t none;

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (!is_ignored(signals[i]))
            sigaction(signals[i], &plain, NULL);
    }
    if (options->leaves_interrupt)
        sigaction(SIGINT, &ignore, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the prctl() */
        _exit(1);
}

static void become_quiet(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

static void become_expendable(void)
{
    static const char most[] = "1000";
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return;
    if (write(file, most, sizeof most - 1) < 0)
        errno = 0; /* the work can be done without it */
    close(file);
}

struct child_job {
    child_work *work;
    void *context;
    int line;
};

static void *child_main(void *arg)
{
    const struct child_job *job = arg;

    job->work(job->context, job->line);
    return NULL;
}

/* libgomp remembers the threads of each thread that used it. Those do not exist
 * in the child, so a parallel region on this thread would wait for them
 * forever. A new thread has none to remember. */
static void run_on_new_thread(struct child_job *job, unsigned long data_bytes)
{
    pthread_attr_t attributes;
    size_t stack_bytes = 0;
    pthread_t thread;

    if (pthread_attr_init(&attributes))
        _exit(1);
    pthread_attr_getstacksize(&attributes, &stack_bytes);
    if (data_bytes) {
        const rlim_t most = data_bytes + stack_bytes;
        const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};

        if (setrlimit(RLIMIT_DATA, &limit))
            _exit(1);
    }
    if (pthread_create(&thread, &attributes, child_main, job))
        _exit(1);
    pthread_join(thread, NULL);
}

_Noreturn static void run_child(const struct child_options *options,
                                struct child_job *job, pid_t parent)
{
    const struct rlimit no_core = {0};

    become_mortal(options, parent);
    if (options->is_quiet)
        become_quiet();
    if (options->is_expendable)
        become_expendable();
    setrlimit(RLIMIT_CORE, &no_core);
    run_on_new_thread(job, options->data_bytes);
    _exit(0); /* nothing more: buffers and handlers belong to the parent */
}

/* ---- in the parent ------------------------------------------------------ */

enum assay_status child_start(struct child *child,
                              const struct child_options *options,
                              child_work *work, void *context,
                              struct error *err)
{
    pid_t parent = getpid();
    int ends[2];

    *child = (struct child){0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return error_errno(err, errno, "starting a process for %s",
                           options->what);
    fflush(NULL); /* or both would write what is buffered */
    child->pid = fork();
    if (child->pid == 0) {
        struct child_job job = {work, context, ends[1]};

        close(ends[0]);
        run_child(options, &job, parent);
    }
    close(ends[1]);
    if (child->pid < 0) {
        int why = errno;

        close(ends[0]);
        *child = (struct child){0};
        return error_errno(err, why, "starting a process for %s",
                           options->what);
    }
    child->line = ends[0];
    return ASSAY_OK;
}

int child_end(struct child *child, bool is_killed, struct rusage *usage)
{
    int status = 0;

    if (child->pid <= 0)
        return 0;
    close(child->line);
    if (is_killed)
        kill(child->pid, SIGKILL);
    while (wait4(child->pid, &status, 0, usage) < 0 && errno == EINTR)
        continue;
    *child = (struct child){0};
    return status;
}
