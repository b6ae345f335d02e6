/* bench/peer.c - see peer.h. */
#include "peer.h"

#include "base/clock.h"
#include "base/processor.h"
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { no_torch = 77, no_program = 127 };

/* Where ASSAY_CPU limits the kernels here, the libraries of PyTorch are told
 * the same in their own words, or the two would not run on one processor. What
 * is set already stands. */
static void limit_peers(void)
{
    static const struct {
        enum processor_level level;
        const char *onednn, *aten, *openblas;
    } words[] = {{PROCESSOR_SSE41, "SSE41", "default", "Nehalem"},
                 {PROCESSOR_AVX2, "AVX2", "avx2", "Haswell"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (processor_limits().assay_cpu != words[i].level)
            continue;
        setenv("ONEDNN_MAX_CPU_ISA", words[i].onednn, 0);
        setenv("ATEN_CPU_CAPABILITY", words[i].aten, 0);
        setenv("OPENBLAS_CORETYPE", words[i].openblas, 0);
    }
}

/* Starts a program; input and output: -1 for /dev/null. */
static enum assay_status start(const char *const *words, int input, int output,
                               pid_t *process, struct error *err)
{
    posix_spawn_file_actions_t actions;
    int failed;

    limit_peers();
    posix_spawn_file_actions_init(&actions);
    if (input < 0)
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    else
        posix_spawn_file_actions_adddup2(&actions, input, 0);
    if (output < 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    else
        posix_spawn_file_actions_adddup2(&actions, output, 1);
    failed =
        posix_spawn(process, words[0], &actions, NULL, (char **)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return error_set(err, ASSAY_NOT_FOUND, "%s: %s", words[0],
                         strerror(failed));
    return ASSAY_OK;
}

static enum assay_status make_pipes(int pipes[4], struct error *err)
{
    if (pipe2(pipes, O_CLOEXEC) || pipe2(pipes + 2, O_CLOEXEC))
        return error_set(err, ASSAY_IO, "no pipe to PyTorch");
    return ASSAY_OK;
}

static enum assay_status wait_until_ready(struct peer *peer, struct error *err)
{
    char line[64];
    int status = 0;

    if (fgets(line, sizeof line, peer->from))
        return ASSAY_OK;
    fclose(peer->to);
    fclose(peer->from);
    waitpid(peer->process, &status, 0);
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == no_torch || WEXITSTATUS(status) == no_program))
        return error_set(err, ASSAY_NOT_FOUND,
                         "python3-torchvision is missing");
    return error_set(err, ASSAY_BAD_INPUT, "PyTorch's side failed");
}

enum assay_status peer_start(struct peer *peer, const char *script,
                             const char *folder, struct error *err)
{
    const char *named = getenv("ASSAY_BENCH_PYTHON");
    const char *root = getenv("ASSAY_BENCH_ROOT"); /* a build made elsewhere */
    char path[600], photo[600];
    const char *words[] = {named ? named : "/usr/bin/python3", path, folder,
                           photo, NULL};
    int pipes[4];
    enum assay_status st = make_pipes(pipes, err);

    if (!root)
        root = BENCH_SOURCE_DIR;
    snprintf(path, sizeof path, "%s/bench/%s", root, script);
    snprintf(photo, sizeof photo, "%s/assets/coffee.jpg", root);
    if (!st)
        st = start(words, pipes[0], pipes[3], &peer->process, err);
    if (st)
        return st;
    close(pipes[0]);
    close(pipes[3]);
    peer->to = fdopen(pipes[1], "w");
    peer->from = fdopen(pipes[2], "r");
    return wait_until_ready(peer, err);
}

void peer_stop(struct peer *peer)
{
    fclose(peer->to);
    fclose(peer->from);
    waitpid(peer->process, NULL, 0);
}

enum assay_status peer_ask(struct peer *peer, const char *job, double *seconds,
                           long *n_results, struct error *err)
{
    char line[128], *end;

    fprintf(peer->to, "%s\n", job);
    fflush(peer->to);
    if (!fgets(line, sizeof line, peer->from))
        return error_set(err, ASSAY_BAD_INPUT, "PyTorch did not run %s", job);
    *seconds = strtod(line, &end);
    *n_results = strtol(end, NULL, 10);
    return ASSAY_OK;
}

void peer_rest(const struct peer *peer)
{
    enum { window_ns = 10000000, idle_ns = 100000, most_windows = 200 };
    struct timespec used = {0};
    int64_t before_ns, now_ns = 0;
    clockid_t clock;

    if (clock_getcpuclockid(peer->process, &clock))
        return;
    for (int i = 0; i < most_windows; i++) {
        before_ns = now_ns;
        clock_gettime(clock, &used);
        now_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
        if (i && now_ns - before_ns < idle_ns)
            return;
        nanosleep(&(struct timespec){.tv_nsec = window_ns}, NULL);
    }
}

enum assay_status child_run(const char *const *words, struct child_cost *cost,
                            struct error *err)
{
    int64_t since = clock_monotonic_ns();
    struct rusage usage;
    pid_t process;
    int exited = 0;
    enum assay_status st = start(words, -1, -1, &process, err);

    if (st)
        return st;
    if (wait4(process, &exited, 0, &usage) >= 0 && WIFEXITED(exited) &&
        WEXITSTATUS(exited) == no_torch)
        return error_set(err, ASSAY_NOT_FOUND, "torchvision is missing");
    if (exited)
        return error_set(err, ASSAY_BAD_INPUT, "%s failed", words[0]);
    cost->seconds = (double)(clock_monotonic_ns() - since) / 1e9;
    cost->peak_bytes = (double)usage.ru_maxrss * 1024;
    return ASSAY_OK;
}

void pairs_add(struct pairs *pairs, double ours, double theirs)
{
    if (pairs->n == PAIRS_MAX)
        return;
    pairs->ours[pairs->n] = ours;
    pairs->theirs[pairs->n++] = theirs;
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    return (numbers[(n - 1) / 2] + numbers[n / 2]) / 2;
}

double pairs_ratio(struct pairs *pairs, double *ours, double *theirs)
{
    *ours = median(pairs->ours, pairs->n);
    *theirs = median(pairs->theirs, pairs->n);
    return *ours / *theirs;
}

static double tenth(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof *numbers, compare_numbers);
    return numbers[n / 10];
}

double pairs_quiet_ratio(struct pairs *pairs, double *ours, double *theirs)
{
    *ours = tenth(pairs->ours, pairs->n);
    *theirs = tenth(pairs->theirs, pairs->n);
    return *ours / *theirs;
}

void bench_ratio(const char *what, struct pairs *pairs, double bar,
                 double scale, const char *unit)
{
    char text[128];
    double ours, theirs, ratio = pairs_ratio(pairs, &ours, &theirs);

    snprintf(text, sizeof text, "%s, ours", what);
    bench_note(text, ours * scale, unit);
    snprintf(text, sizeof text, "%s, PyTorch's", what);
    bench_note(text, theirs * scale, unit);
    snprintf(text, sizeof text, "%s / PyTorch's", what);
    if (bar > 0)
        bench_at_most(text, ratio, bar, "x");
    else
        bench_note(text, ratio, "x");
}
