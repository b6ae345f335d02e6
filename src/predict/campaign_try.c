/* predict/campaign_try.c - see campaign.h: a test in a process of its own. */
#include "predict/campaign.h"

#include "base/clock.h"
#include "base/processor.h"
#include "base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child tells. */
struct answer {
    enum assay_status status;
    struct campaign_result result;
    struct error error;
};

/* What /proc/meminfo says of the machine, in MB; 0: not known. */
struct machine_memory {
    double total, available, free;
};

static struct machine_memory machine_memory(void)
{
    struct machine_memory memory = {0};
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    long long kb;

    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemTotal: %lld kB", &kb) == 1)
            memory.total = (double)kb / 1024;
        else if (sscanf(line, "MemAvailable: %lld kB", &kb) == 1)
            memory.available = (double)kb / 1024;
        else if (sscanf(line, "MemFree: %lld kB", &kb) == 1)
            memory.free = (double)kb / 1024;
    }
    if (file)
        fclose(file);
    return memory;
}

/* Channels that the kernels of this processor compute together: as many
 * float32 as a vector has. */
static double find_lane(void)
{
    switch (processor_level()) {
    case PROCESSOR_PLAIN:
        return 0;
    case PROCESSOR_SSE41:
    case PROCESSOR_AVX2:
        return 8; /* oneDNN blocks channels by 8 with either */
    case PROCESSOR_AVX512:
    case PROCESSOR_AMX:
        return 16;
    }
    return 0;
}

/* ---- in the child ------------------------------------------------------- */

/* Where the machine runs out of memory the test is the one to go. */
static void offer_oneself(void)
{
    static const char most[] = "1000";
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return;
    if (write(file, most, sizeof most - 1) < 0)
        errno = 0; /* the test still runs without */
    close(file);
}

/* A signal ends the test, whatever the program around it does with them, and
 * so does the end of the campaign. An interrupt from the terminal is the
 * campaign's to answer, when the test has ended. */
static void be_mortal(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS,  SIGFPE,
                                  SIGILL,  SIGABRT, SIGTERM};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void be_quiet(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

_Noreturn static void run_child(const struct campaign_test *test,
                                const struct campaign_limits *limits,
                                size_t memory_bytes, int to)
{
    const rlim_t most = memory_bytes + (rlim_t)(campaign_own_mb() * 0x1p20);
    const struct rlimit data = {most, most}, no_core = {0};
    campaign_measure *measure =
        limits->measure ? limits->measure : campaign_measure_here;
    struct answer answer = {0};

    be_mortal();
    be_quiet();
    offer_oneself();
    setrlimit(RLIMIT_CORE, &no_core);
    if (setrlimit(RLIMIT_DATA, &data))
        answer.status =
            error_errno(&answer.error, errno, "limiting the memory of a test");
    else
        answer.status = measure(test, limits, &answer.result, &answer.error);
    _exit(write(to, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

/* ---- in the parent ------------------------------------------------------ */

enum told { TOLD_ALL, TOLD_NOTHING, TOLD_TOO_LATE };

static enum told read_answer(int from, double seconds, struct answer *answer)
{
    int64_t until_ns = clock_monotonic_ns() + (int64_t)(seconds * 1e9);
    char *next = (char *)answer;
    size_t left = sizeof *answer;

    while (left) {
        int64_t left_ms = (until_ns - clock_monotonic_ns()) / 1000000;
        struct pollfd wanted = {.fd = from, .events = POLLIN};
        int n = left_ms < 0 ? 0 : poll(&wanted, 1, (int)left_ms);
        ssize_t got;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return TOLD_TOO_LATE;
        got = read(from, next, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return TOLD_NOTHING;
        next += got;
        left -= (size_t)got;
    }
    return TOLD_ALL;
}

static const char nomem_words[] = "out of memory";

bool campaign_is_nomem(const struct campaign_result *result)
{
    return !result->is_passed &&
           strncmp(result->reason, nomem_words, strlen(nomem_words)) == 0;
}

static void explain(struct campaign_result *result, enum told told,
                    const struct answer *answer, int status, double seconds,
                    size_t memory_bytes)
{
    char limit[UNITS_MAX];

    units_bytes(limit, (double)memory_bytes);
    if (told == TOLD_TOO_LATE)
        snprintf(result->reason, sizeof result->reason, "no answer within %g s",
                 seconds);
    else if (told == TOLD_NOTHING && WIFSIGNALED(status))
        snprintf(result->reason, sizeof result->reason,
                 "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (told == TOLD_NOTHING)
        snprintf(result->reason, sizeof result->reason,
                 "ended with code %d at a limit of %s", WEXITSTATUS(status),
                 limit);
    else if (answer->status == ASSAY_NOMEM)
        snprintf(result->reason, sizeof result->reason, "%s at a limit of %s",
                 nomem_words, limit);
    else
        snprintf(result->reason, sizeof result->reason, "%.150s",
                 answer->error.text);
}

static size_t choose_limit(const struct campaign_limits *limits,
                           const struct machine_memory *memory)
{
    if (limits->memory_bytes)
        return limits->memory_bytes;
    return memory->available > 0
               ? (size_t)(memory->available * 0.9 * 1024 * 1024)
               : SIZE_MAX / 2;
}

static void finish(pid_t child, int from, const struct campaign_limits *limits,
                   size_t memory_bytes, struct campaign_result *result)
{
    struct answer answer = {0};
    enum told told = read_answer(from, limits->seconds, &answer);
    int status = 0;

    if (told != TOLD_ALL || answer.status)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (told == TOLD_ALL && !answer.status) {
        *result = answer.result;
        result->is_passed = true;
    } else {
        explain(result, told, &answer, status, limits->seconds, memory_bytes);
    }
}

enum assay_status campaign_try(const struct campaign_test *test,
                               const struct campaign_limits *limits,
                               struct campaign_result *result,
                               struct error *err)
{
    struct machine_memory memory = machine_memory();
    size_t limit = choose_limit(limits, &memory);
    int64_t began_ns = clock_monotonic_ns();
    int ends[2];
    pid_t child;

    *result = (struct campaign_result){0};
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(err, errno, "making a pipe for a test");
    child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(test, limits, limit, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        int why = errno;

        close(ends[0]);
        return error_errno(err, why, "starting a process for a test");
    }
    finish(child, ends[0], limits, limit, result);
    close(ends[0]);
    result->seconds = (double)(clock_monotonic_ns() - began_ns) / 1e9;
    result->lane = find_lane();
    result->avail_mb = memory.available;
    result->free_mb = memory.free;
    result->capacity_mb = limits->memory_bytes
                              ? (double)limits->memory_bytes / 1024 / 1024
                              : memory.total;
    return ASSAY_OK;
}
