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
#include <stddef.h>
#include <stdint.h>

/* constant, series, unit */
#define STEADY_VALUES(X)                                                       \
    X(STEADY_VOLUNTARY, "steady.voluntary_switches", "")                       \
    X(STEADY_INVOLUNTARY, "steady.involuntary_switches", "")                   \
    X(STEADY_FAULTS, "steady.page_faults", "")                                 \
    X(STEADY_MAJOR_FAULTS, "steady.major_faults", "")                          \
    X(STEADY_MIGRATIONS, "steady.migrations", "")                              \
    X(STEADY_CPU, "steady.cpu", "ms")   /* processor time, all threads */      \
    X(STEADY_WAIT, "steady.wait", "ms") /* for a processor, see below */       \
    X(STEADY_FREQUENCY, "steady.frequency", "MHz")                             \
    X(STEADY_OTHERS, "steady.others", "processors") /* busy with others */     \
    X(STEADY_STOLEN, "steady.stolen", "processors") /* by the host's guests */ \
    X(STEADY_THROTTLED, "steady.throttled", "processors") /* held back */

enum steady_value {
#define STEADY_ENUM(name, series, unit) name,
    STEADY_VALUES(STEADY_ENUM)
#undef STEADY_ENUM
        N_STEADY
};

const char *steady_series(enum steady_value value);
const char *steady_unit(enum steady_value value);

enum { STEADY_MAX_THREADS = 64 };

/* What the machine did, counted since its start. */
struct steady_ticks {
    int64_t when_ns;
    double busy_ns, stolen_ns, own_ns; /* of processor time */
    double throttled_ns;
};

/* What is open for reading. */
struct steady {
    int migrations; /* a counter over all threads; -1: there is none */

    /* The schedstat of the thread that opened this and of the team's. */
    int waits[STEADY_MAX_THREADS];
    size_t n_waits, n_threads; /* threads of the process when last counted */

    struct steady_ticks last; /* read some time ago */
};

/* Values at one moment, growing ones since the beginning; NaN where they
 * cannot be read. The processor is in the place of migrations where those are
 * not counted. */
struct steady_sample {
    double values[N_STEADY];
    int processor;
    double waits_ms[STEADY_MAX_THREADS]; /* by thread */
    size_t n_waits;
};

/* Before the threads start that are to be counted. Nothing here can fail: what
 * cannot be read is not known. */
void steady_open(struct steady *steady);
void steady_close(struct steady *steady);
struct steady_sample steady_read(struct steady *steady);

/* What happened between two moments. The wait is that of the thread which
 * waited longest, for the others wait for it. Of the frequency and of what is
 * counted in processors it is the later value. The latter are means of the
 * time since they were read before, at least 50 ms: NaN where both moments lie
 * in between. */
struct steady_sample steady_between(const struct steady_sample *before,
                                    const struct steady_sample *after);

#endif
