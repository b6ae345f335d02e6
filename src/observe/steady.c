/* observe/steady.c - see steady.h. */
#include "observe/steady.h"

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/scanner.h"
#include "machine/machine.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static const struct {
    const char *series, *unit;
} names[] = {
#define NAMES(name, series, unit) {series, unit},
    STEADY_VALUES(NAMES)
#undef NAMES
};

const char *steady_series(enum steady_value value)
{
    return names[value].series;
}

const char *steady_unit(enum steady_value value)
{
    return names[value].unit;
}

/* For all threads that start from now on, if the kernel allows it. */
static int open_migrations(void)
{
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attributes,
        .config = PERF_COUNT_SW_CPU_MIGRATIONS,
        .inherit = 1,
    };

    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
                        PERF_FLAG_FD_CLOEXEC);
}

void steady_open(struct steady *steady)
{
    int own = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);

    *steady = (struct steady){.migrations = open_migrations(), .waits = {own}};
    steady->n_waits = own >= 0;
}

void steady_close(struct steady *steady)
{
    if (steady->migrations >= 0)
        close(steady->migrations);
    for (size_t i = 0; i < steady->n_waits; i++)
        close(steady->waits[i]);
    steady->n_waits = 0;
}

/* ---- threads ------------------------------------------------------------- */

/* Whether a thread of this process is one that kernels run on: it has the name
 * that team/team.c sets. */
static bool is_of_team(const char *number)
{
    char path[64], name[32] = "";
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", number);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, name, sizeof name - 1);
    close(fd);
    return n > 0 && strncmp(name, "assay-team", 10) == 0;
}

/* Opens the counters of the team's threads, again if threads came or went. */
static void find_threads(struct steady *steady)
{
    struct stat folder;
    struct dirent *entry;
    DIR *tasks;

    if (stat("/proc/self/task", &folder) != 0 ||
        folder.st_nlink == steady->n_threads)
        return;
    steady->n_threads = folder.st_nlink;
    while (steady->n_waits > 1)
        close(steady->waits[--steady->n_waits]);
    tasks = opendir("/proc/self/task");
    while (tasks && steady->n_waits < STEADY_MAX_THREADS &&
           (entry = readdir(tasks)) != NULL) {
        char path[64];
        int fd;

        if (entry->d_name[0] == '.' || !is_of_team(entry->d_name))
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat",
                 entry->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            steady->waits[steady->n_waits++] = fd;
    }
    if (tasks)
        closedir(tasks);
}

/* ---- one moment ---------------------------------------------------------- */

static double read_migrations(int fd)
{
    uint64_t count;

    return fd >= 0 && read(fd, &count, sizeof count) == (ssize_t)sizeof count
               ? (double)count
               : NAN;
}

/* "running waiting slices", nanoseconds. */
static double read_wait_ms(int fd)
{
    uint64_t running, waiting;
    const char *at;
    char text[96];
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;

    if (n <= 0)
        return NAN;
    text[n] = '\0';
    at = text;
    if (!scan_number(&at, UINT64_MAX, &running))
        return NAN;
    scan_blanks(&at);
    return scan_number(&at, UINT64_MAX, &waiting) ? (double)waiting / 1e6
                                                  : (double)NAN;
}

static double read_frequency(int processor)
{
    char path[96], text[32];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
             processor);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NAN;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? strtod(text, NULL) / 1000 : NAN;
}

static double to_ms(struct timeval time)
{
    return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

static bool read_ticks(struct steady_ticks *out)
{
    const double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    struct machine_ticks ticks;
    struct rusage usage;

    if (!machine_ticks("", &ticks) || getrusage(RUSAGE_SELF, &usage) != 0)
        return false;
    *out = (struct steady_ticks){
        .when_ns = clock_monotonic_ns(),
        .busy_ns = (double)ticks.busy * tick_ns,
        .stolen_ns = (double)ticks.stolen * tick_ns,
        .own_ns = (to_ms(usage.ru_utime) + to_ms(usage.ru_stime)) * 1e6,
        .throttled_ns = cgroup_throttled_ns("")};
    return true;
}

/* Not too often: reading takes tens of microseconds, and the kernel counts in
 * steps of 10 ms. */
static void read_load(struct steady *steady, double *values)
{
    static const int64_t every_ns = 50000000;
    const struct steady_ticks *last = &steady->last;
    struct steady_ticks now;
    double passed_ns;

    if (last->when_ns && clock_monotonic_ns() - last->when_ns < every_ns)
        return;
    if (!read_ticks(&now))
        return;
    passed_ns = (double)(now.when_ns - last->when_ns);
    if (last->when_ns) {
        values[STEADY_OTHERS] = fmax(
            0, (now.busy_ns - last->busy_ns - (now.own_ns - last->own_ns)) /
                   passed_ns);
        values[STEADY_STOLEN] = (now.stolen_ns - last->stolen_ns) / passed_ns;
        values[STEADY_THROTTLED] =
            (now.throttled_ns - last->throttled_ns) / passed_ns;
    }
    steady->last = now;
}

/* What costs little to read. */
static void read_usage(double *values)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    values[STEADY_VOLUNTARY] = (double)usage.ru_nvcsw;
    values[STEADY_INVOLUNTARY] = (double)usage.ru_nivcsw;
    values[STEADY_FAULTS] = (double)usage.ru_minflt;
    values[STEADY_MAJOR_FAULTS] = (double)usage.ru_majflt;
    values[STEADY_CPU] = to_ms(usage.ru_utime) + to_ms(usage.ru_stime);
}

/* The counter of migrations interrupts every processor that a thread of ours is
 * on, and the rest are files. */
static void read_files(struct steady *steady, struct steady_sample *sample)
{
    sample->processor = sched_getcpu();
    sample->values[STEADY_MIGRATIONS] = read_migrations(steady->migrations);
    find_threads(steady);
    sample->n_waits = steady->n_waits;
    for (size_t i = 0; i < steady->n_waits; i++)
        sample->waits_ms[i] = read_wait_ms(steady->waits[i]);
    read_load(steady, sample->values);
    sample->values[STEADY_FREQUENCY] = read_frequency(sample->processor);
}

static const int64_t short_ns = 1000000;

static struct steady_sample steady_read(struct steady *steady, bool reads_files)
{
    struct steady_sample *sample = &steady->sample;

    if (reads_files || !steady->read_ns) {
        for (int i = 0; i < N_STEADY; i++)
            sample->values[i] = NAN;
        read_files(steady, sample);
        steady->read_ns = clock_monotonic_ns();
    }
    read_usage(sample->values);
    return *sample;
}

struct steady_sample steady_before(struct steady *steady)
{
    struct steady_sample sample =
        steady_read(steady, steady->lasted_ns >= short_ns);

    steady->began_ns = clock_monotonic_ns();
    return sample;
}

struct steady_sample steady_after(struct steady *steady)
{
    int64_t now_ns = clock_monotonic_ns();

    steady->lasted_ns = now_ns - steady->began_ns;
    return steady_read(steady, now_ns - steady->read_ns >= short_ns);
}

/* Of threads that existed before and after. */
static double longest_wait(const struct steady_sample *before,
                           const struct steady_sample *after)
{
    double longest = NAN;

    for (size_t i = 0; i < before->n_waits && i < after->n_waits; i++)
        longest = fmax(longest, after->waits_ms[i] - before->waits_ms[i]);
    return longest;
}

struct steady_sample steady_between(const struct steady_sample *before,
                                    const struct steady_sample *after)
{
    struct steady_sample gone = *after;

    for (int i = 0; i < N_STEADY; i++) {
        if (i < STEADY_FREQUENCY)
            gone.values[i] -= before->values[i];
        else if (isnan(gone.values[i]))
            gone.values[i] = before->values[i];
    }
    gone.values[STEADY_WAIT] = longest_wait(before, after);
    if (isnan(gone.values[STEADY_MIGRATIONS]) && before->processor >= 0)
        gone.values[STEADY_MIGRATIONS] = before->processor != after->processor;
    return gone;
}
