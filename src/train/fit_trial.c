/* train/fit_trial.c - see fit.h: a training in a process of its own, within a
 * limit. */
#include "train/fit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child tells. */
struct answer {
    enum assay_status status;
    double images_per_s;
    struct error error;
};

/* ---- in the child ------------------------------------------------------- */

/* Where the host runs out of memory the trial is the one to go. */
static void offer_oneself(void)
{
    static const char most[] = "1000";
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return;
    if (write(file, most, sizeof most - 1) < 0)
        errno = 0; /* the search still works without */
    close(file);
}

/* A fuse above the limit, which the parent watches: libraries reserve memory
 * that they never touch (oneDNN some MiB for each kernel), and that is not to
 * count. */
static enum assay_status set_fuse(size_t bytes, struct error *err)
{
    static const size_t reserved_bytes = (size_t)512 << 20;
    const size_t most = bytes + bytes / 4 + reserved_bytes;
    const struct rlimit data = {.rlim_cur = most, .rlim_max = most};
    const struct rlimit no_core = {0};

    if (setrlimit(RLIMIT_DATA, &data))
        return error_errno(err, errno, "limiting the memory of a trial");
    setrlimit(RLIMIT_CORE, &no_core);
    return ASSAY_OK;
}

/* A library that runs out of memory says so on its way out; the parent says it
 * in a line of its own. */
static void be_quiet(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

_Noreturn static void run_child(const struct fit_options *options,
                                int64_t batch, bool is_check, int to)
{
    struct answer answer = {0};

    be_quiet();
    offer_oneself();
    answer.status = set_fuse(options->memory_bytes, &answer.error);
    if (!answer.status)
        answer.status = options->train(options->context, batch, is_check,
                                       &answer.images_per_s, &answer.error);
    _exit(write(to, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

/* ---- in the parent ------------------------------------------------------ */

/* False where the child ended before it could tell. */
static bool read_answer(int from, struct answer *answer)
{
    char *next = (char *)answer;
    size_t left = sizeof *answer;

    while (left) {
        ssize_t n = read(from, next, left);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        next += n;
        left -= (size_t)n;
    }
    return true;
}

static size_t resident_bytes(pid_t child)
{
    unsigned long long pages = 0;
    char path[32];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/statm", (long)child);
    file = fopen(path, "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Until the child tells or ends. One that has more than the limit is ended:
 * true. */
static bool watch(pid_t child, int from, size_t memory_bytes)
{
    enum { every_ms = 5 };
    struct pollfd wanted = {.fd = from, .events = POLLIN};

    for (;;) {
        int n = poll(&wanted, 1, every_ms);

        if (n > 0 || (n < 0 && errno != EINTR))
            return false;
        if (resident_bytes(child) > memory_bytes) {
            kill(child, SIGKILL);
            return true;
        }
    }
}

static size_t reap(pid_t child)
{
    struct rusage usage = {0};
    int status;

    while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
        continue;
    return (size_t)usage.ru_maxrss * 1024;
}

static enum assay_status judge(const struct answer *answer, bool is_told,
                               struct fit_trial *out, struct error *err)
{
    if (!is_told)
        out->end = FIT_KILLED;
    else if (answer->status == ASSAY_NOMEM)
        out->end = FIT_REFUSED;
    else if (answer->status)
        return error_set(err, answer->status, "%s", answer->error.text);
    if (out->end == FIT_FITS)
        out->images_per_s = answer->images_per_s;
    return ASSAY_OK;
}

enum assay_status fit_trial(const struct fit_options *options, int64_t batch,
                            bool is_check, struct fit_trial *out,
                            struct error *err)
{
    struct answer answer = {0};
    bool is_over, is_told;
    int ends[2];
    pid_t child;

    *out = (struct fit_trial){.batch = batch, .is_check = is_check};
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(err, errno, "making a pipe for a trial");
    child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(options, batch, is_check, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        int why = errno;

        close(ends[0]);
        return error_errno(err, why, "starting a process for a trial");
    }
    is_over = watch(child, ends[0], options->memory_bytes);
    is_told = read_answer(ends[0], &answer);
    close(ends[0]);
    out->peak_bytes = reap(child);
    if (is_over || out->peak_bytes > options->memory_bytes) {
        out->end = FIT_OVER;
        return ASSAY_OK;
    }
    return judge(&answer, is_told, out, err);
}
