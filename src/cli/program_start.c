/* cli/program_start.c - see program_start.h. */
#include "cli/program_start.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};

enum { n_passed_on = sizeof passed_on / sizeof *passed_on };

/* What a program that is started gets: no signals blocked, and those that
 * main() ignores with their default. */
static int program_attributes(posix_spawnattr_t *attributes,
                              const sigset_t *mask)
{
    sigset_t plain;
    int failed;

    sigemptyset(&plain);
    sigaddset(&plain, SIGXFSZ);
    failed = posix_spawnattr_init(attributes);
    if (!failed)
        failed = posix_spawnattr_setsigmask(attributes, mask);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(attributes, &plain);
    if (!failed)
        failed = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return failed;
}

static enum assay_status program_spawn(const char *const *words,
                                       const sigset_t *mask, pid_t *child,
                                       struct error *err)
{
    posix_spawnattr_t attributes;
    int failed = program_attributes(&attributes, mask);

    if (!failed)
        failed = posix_spawnp(child, words[0], NULL, &attributes,
                              (char *const *)words, environ);
    posix_spawnattr_destroy(&attributes);
    if (failed == ENOENT)
        return error_set(
            err, ASSAY_NOT_FOUND, "cannot run '%s': there is no such %s",
            words[0], strchr(words[0], '/') ? "file" : "program on the path");
    return failed ? error_errno(err, failed, "running %s", words[0]) : ASSAY_OK;
}

/* Waits with these signals blocked: one of them says that the child ended. */
static void program_wait(pid_t child, const sigset_t *waited,
                         struct program_end *end)
{
    int status = 0;

    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(waited, &info);

        if (number == SIGCHLD) {
            if (waitpid(child, &status, WNOHANG) == child)
                break;
        } else if (number > 0 && info.si_code <= 0) {
            kill(child, number); /* from a process, not from the terminal */
        }
    }
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* Signals that a shell or nohup made this program ignore stay ignored. */
static bool program_ignores(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 &&
           action.sa_handler == SIG_IGN;
}

enum assay_status program_run(const char *const *words, struct program_end *end,
                              struct error *err)
{
    sigset_t waited, before;
    enum assay_status st;
    pid_t child = 0;

    *end = (struct program_end){0};
    sigemptyset(&waited);
    sigaddset(&waited, SIGCHLD);
    for (int i = 0; i < n_passed_on; i++) {
        if (!program_ignores(passed_on[i]))
            sigaddset(&waited, passed_on[i]);
    }
    if (sigprocmask(SIG_BLOCK, &waited, &before))
        return error_errno(err, errno, "waiting for a program");
    st = program_spawn(words, &before, &child, err);
    if (!st)
        program_wait(child, &waited, end);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return st;
}

void program_end_as(const struct program_end *end)
{
    for (int i = 0; i < n_passed_on; i++) {
        if (end->signal == passed_on[i]) {
            signal(end->signal, SIG_DFL);
            raise(end->signal);
        }
    }
    if (end->signal)
        exit(128 + end->signal);
    if (end->code)
        exit(end->code);
}
