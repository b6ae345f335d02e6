/* detect/steady.c - see steady.h. */
#include "detect/steady.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
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

/* Of all threads that start from now on, where the kernel lets us. */
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
    steady->migrations = open_migrations();
    steady->waits = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

void steady_close(struct steady *steady)
{
    if (steady->migrations >= 0)
        close(steady->migrations);
    if (steady->waits >= 0)
        close(steady->waits);
}

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
    unsigned long long running, waiting;
    char text[96];
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;

    if (n <= 0)
        return NAN;
    text[n] = '\0';
    return sscanf(text, "%llu %llu", &running, &waiting) == 2
               ? (double)waiting / 1e6
               : NAN;
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

struct steady_sample steady_read(const struct steady *steady)
{
    struct steady_sample sample = {.processor = sched_getcpu()};
    struct rusage usage;

    for (int i = 0; i < N_STEADY; i++)
        sample.values[i] = NAN;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        sample.values[STEADY_VOLUNTARY] = (double)usage.ru_nvcsw;
        sample.values[STEADY_INVOLUNTARY] = (double)usage.ru_nivcsw;
        sample.values[STEADY_FAULTS] = (double)usage.ru_minflt;
        sample.values[STEADY_MAJOR_FAULTS] = (double)usage.ru_majflt;
        sample.values[STEADY_CPU] =
            to_ms(usage.ru_utime) + to_ms(usage.ru_stime);
    }
    sample.values[STEADY_MIGRATIONS] = read_migrations(steady->migrations);
    sample.values[STEADY_WAIT] = read_wait_ms(steady->waits);
    sample.values[STEADY_FREQUENCY] = read_frequency(sample.processor);
    return sample;
}

struct steady_sample steady_between(const struct steady_sample *before,
                                    const struct steady_sample *after)
{
    struct steady_sample gone = *after;

    for (int i = 0; i < N_STEADY; i++) {
        if (i != STEADY_FREQUENCY)
            gone.values[i] = after->values[i] - before->values[i];
    }
    if (isnan(gone.values[STEADY_MIGRATIONS]) && before->processor >= 0)
        gone.values[STEADY_MIGRATIONS] = before->processor != after->processor;
    return gone;
}
