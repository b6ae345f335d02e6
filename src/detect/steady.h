/* detect/steady.h - how the machine treats this process, iteration by
 * iteration.
 *
 * Counters that the kernel keeps anyway: reading them costs microseconds, and
 * happens between iterations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_STEADY_H
#define DETECT_STEADY_H

#include <stdbool.h>
#include <stdint.h>

/* constant, series, unit */
#define STEADY_VALUES(X)                                                       \
    X(STEADY_VOLUNTARY, "steady.voluntary_switches", "")                       \
    X(STEADY_INVOLUNTARY, "steady.involuntary_switches", "")                   \
    X(STEADY_FAULTS, "steady.page_faults", "")                                 \
    X(STEADY_MAJOR_FAULTS, "steady.major_faults", "")                          \
    X(STEADY_MIGRATIONS, "steady.migrations", "")                              \
    X(STEADY_CPU, "steady.cpu", "ms")   /* processor time, all threads */      \
    X(STEADY_WAIT, "steady.wait", "ms") /* the main thread, for a processor */ \
    X(STEADY_FREQUENCY, "steady.frequency", "MHz")

enum steady_value {
#define STEADY_ENUM(name, series, unit) name,
    STEADY_VALUES(STEADY_ENUM)
#undef STEADY_ENUM
        N_STEADY
};

const char *steady_series(enum steady_value value);
const char *steady_unit(enum steady_value value);

/* What is open for reading. */
struct steady {
    int migrations; /* a counter over all threads; -1: there is none */
    int waits;      /* the main thread's schedstat; -1 */
};

/* Values at one moment, growing ones since the beginning; NaN where they
 * cannot be read. The processor is in the place of migrations where those are
 * not counted. */
struct steady_sample {
    double values[N_STEADY];
    int processor;
};

/* Before the threads start that are to be counted. Nothing here can fail: what
 * cannot be read is not known. */
void steady_open(struct steady *steady);
void steady_close(struct steady *steady);
struct steady_sample steady_read(const struct steady *steady);

/* What happened between two moments: of the frequency the later value. */
struct steady_sample steady_between(const struct steady_sample *before,
                                    const struct steady_sample *after);

#endif
