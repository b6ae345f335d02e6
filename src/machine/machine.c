/* machine/machine.c - looking at this machine as a whole. */
#include "machine/machine.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double default_seconds = 1.8;

/* What the measuring process tells. */
struct answer {
    enum assay_status st;
    struct error err;
    struct peaks peaks;
};

static void answer_from_child(const struct machine_probe *probe, int pipe)
{
    struct answer answer = {.st = ASSAY_OK};

    answer.st = machine_probe(probe, &answer.peaks, &answer.err);
    /* Fits into a pipe at once. */
    _exit(write(pipe, &answer, sizeof answer) != (ssize_t)sizeof answer);
}

static enum assay_status read_answer(int pipe, struct peaks *peaks,
                                     struct error *err)
{
    struct answer answer;
    ssize_t n;

    do
        n = read(pipe, &answer, sizeof answer);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof answer)
        return error_set(err, ASSAY_IO,
                         "measuring the machine ended early; is its memory "
                         "full?");
    *peaks = answer.peaks;
    if (answer.st)
        error_set(err, answer.st, "%s", answer.err.text);
    return answer.st;
}

static double seconds_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static enum assay_status probe_apart(const struct machine_probe *probe,
                                     struct peaks *peaks, double *own_seconds,
                                     struct error *err)
{
    struct rusage usage = {0};
    enum assay_status st;
    int ends[2];
    pid_t child;

    if (pipe(ends) < 0)
        return error_errno(err, errno, "making a pipe");
    child = fork();
    if (child == 0)
        answer_from_child(probe, ends[1]);
    close(ends[1]);
    if (child < 0)
        st = error_errno(err, errno, "starting a process");
    else
        st = read_answer(ends[0], peaks, err);
    close(ends[0]);
    while (child > 0 && wait4(child, NULL, 0, &usage) < 0 && errno == EINTR)
        ;
    *own_seconds = seconds_of(&usage);
    return st;
}

/* The share of all processors' time that went to others. */
static double busy_share(const struct machine_ticks *from,
                         const struct machine_ticks *to, double own_seconds)
{
    double ticks = (double)sysconf(_SC_CLK_TCK);
    double all = (double)(to->all - from->all);
    double others = (double)(to->busy - from->busy) - own_seconds * ticks;

    return all > 0 ? fmin(fmax(others, 0) / all, 1) : NAN;
}

static void write_now(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;

    text[0] = '\0';
    if (gmtime_r(&now, &utc))
        (void)strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static enum assay_status measure(const struct machine_options *options,
                                 struct machine *out, struct error *err)
{
    struct machine_probe probe = {
        .backend = options->backend,
        .n_threads = options->n_threads,
        .seconds = options->seconds > 0 ? options->seconds : default_seconds,
        .topology = &out->topology,
        .available_bytes = out->state.available_bytes,
        .clock = clock_real()};
    struct machine_ticks from, to;
    bool is_told = machine_ticks(options->root, &from);
    double own_seconds = 0;
    enum assay_status st =
        probe_apart(&probe, &out->known.peaks, &own_seconds, err);

    if (st)
        return st;
    is_told &= machine_ticks(options->root, &to);
    out->known.busy = is_told ? busy_share(&from, &to, own_seconds) : NAN;
    write_now(out->known.when, sizeof out->known.when);
    return ASSAY_OK;
}

/* Measures, and remembers that where it can be; where it cannot, it is measured
 * again the next time. */
static enum assay_status measure_and_keep(const struct machine_options *options,
                                          const char *key, struct machine *out,
                                          struct error *err)
{
    struct known_peaks before;
    enum assay_status st = measure(options, out, err);

    if (st || !options->path)
        return st;
    if (out->known.busy > MACHINE_BUSY &&
        known_peaks_find(options->path, key, &before))
        known_peaks_join(&out->known, &before);
    (void)known_peaks_put(options->path, key, &out->known, NULL);
    return ASSAY_OK;
}

enum assay_status machine_look(const struct machine_options *options,
                               struct machine *out, struct error *err)
{
    char key[320];

    *out = (struct machine){.n_threads = options->n_threads};
    machine_topology(options->root, &out->topology);
    machine_state(options->root, &out->state);
    machine_offers(options->root, machine_try_counter, &out->offers);
    machine_key(&out->topology, options->n_threads, options->backend, key,
                sizeof key);
    known_peaks_forget(&out->known);
    if (options->path && options->measuring != MACHINE_AGAIN)
        out->is_cached = known_peaks_find(options->path, key, &out->known);
    if (out->is_cached || options->measuring == MACHINE_CACHED)
        return ASSAY_OK;
    return measure_and_keep(options, key, out, err);
}
