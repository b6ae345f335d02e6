/* observe/steady.h - how the machine treats this process, iteration by
 * iteration.
 *
 * Uses counters that the kernel keeps anyway: reading them takes microseconds,
 * and happens between iterations.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_STEADY_H
#define OBSERVE_STEADY_H

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
    X(STEADY_STOLEN, "steady.stolen", "processors") /* by other guests */      \
    X(STEADY_THROTTLED, "steady.throttled", "processors") /* throttled */

enum steady_value {
#define STEADY_ENUM(name, series, unit) name,
    STEADY_VALUES(STEADY_ENUM)
#undef STEADY_ENUM
        N_STEADY
};

const char *steady_series(enum steady_value value);
const char *steady_unit(enum steady_value value);

enum { STEADY_MAX_THREADS = 64 };

/* What the machine did, counted since it started. */
struct steady_ticks {
    int64_t when_ns;
    double busy_ns, stolen_ns, own_ns; /* of processor time */
    double throttled_ns;
};

/* Values at one moment, some of them cumulative; NaN if they cannot be read. If
 * migrations are not counted, the processor takes their place. */
struct steady_sample {
    double values[N_STEADY];
    int processor;
    double waits_ms[STEADY_MAX_THREADS]; /* by thread */
    size_t n_waits;
};

/* What is open for reading. */
struct steady {
    int migrations; /* a counter over all threads, or -1 */

    /* The schedstat of the thread that opened this and of the team's
     * threads. */
    int waits[STEADY_MAX_THREADS];
    size_t n_waits, n_threads; /* threads of the process when last counted */

    struct steady_ticks last; /* read some time ago */
    struct steady_sample sample;
    int64_t read_ns;             /* when all of that was read; 0: never */
    int64_t began_ns, lasted_ns; /* the last iteration */
};

/* Call it before starting the threads to count. Cannot fail: what cannot be
 * read is unknown. */
void steady_open(struct steady *steady);
void steady_close(struct steady *steady);
/* Before an iteration and after it. Reading everything may take longer than an
 * iteration: where they are shorter than a millisecond it is done once per
 * millisecond, after one of them, and what happened since the last time counts
 * with that one. Page faults, switches and processor time are always read. */
struct steady_sample steady_before(struct steady *steady);
struct steady_sample steady_after(struct steady *steady);

/* What happened between two moments. The wait is that of the thread that waited
 * longest, because the others wait for it. For the frequency and for what is
 * counted in processors it is the later value. The latter are means over the
 * time since the previous reading, at least 50 ms: NaN if both moments lie in
 * between. */
struct steady_sample steady_between(const struct steady_sample *before,
                                    const struct steady_sample *after);

#endif
