/* run/bound.h - how far the scopes of a run are from what the machine can do.
 *
 * GFLOP/s count the direct algorithm's work, whatever algorithm ran. Bounds,
 * shares and floors come from what was executed (scope_work.done_flops and
 * done_bytes) and from the machine's peaks, which are facts of the run:
 *
 *   floor = the largest of done_flops / peak, done_bytes / bandwidth and
 *           calls * launch: no machine like this one needs less for it
 *   share = floor / time, so never above 1
 *   saved = time - floor
 *
 * What takes the largest part of the floor bounds the scope; where neither
 * arithmetic nor memory explains a third of the time, latency does. A scope
 * that others are below has their floors added up, and is bound by what bounds
 * two thirds of their time; nothing is said of one less than half of whose time
 * has known work.
 *
 * A call that takes less than a launch did not start all threads, so that no
 * launch is part of its floor. A peak is the best that was ever seen: where a
 * scope of this run is faster than the probe was (which ran beside other load,
 * or on a colder machine), the peak is raised to that.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_BOUND_H
#define RUN_BOUND_H

#include "run/run.h"

#define RUN_BOUND_KINDS(X)                                                     \
    X(BOUND_UNKNOWN, "-")       /* the work or the machine is not known */     \
    X(BOUND_COMPUTE, "compute") /* arithmetic */                               \
    X(BOUND_MEMORY, "memory")   /* moving data */                              \
    X(BOUND_LATENCY, "latency") /* starting kernels, waiting, one thread */    \
    X(BOUND_MIXED, "mixed")     /* no one of them for two thirds of the time */

enum bound_kind {
#define RUN_BOUND_ENUM(name, text) name,
    RUN_BOUND_KINDS(RUN_BOUND_ENUM)
#undef RUN_BOUND_ENUM
        N_BOUND_KINDS
};

const char *bound_kind_text(enum bound_kind kind);

/* A cache, all of its kind together, and the rate of reading from it. */
struct cache_peak {
    int level; /* 2 or 3 */
    double bytes, gbs;
};

enum { PEAKS_MAX_CACHES = 3 };

/* What the machine can do at best with the threads of the run; NaN where it is
 * not known. Rates of bytes are 1e9 a second. */
struct peaks {
    double gflops; /* fp32 */
    double read_gbs, write_gbs, copy_gbs;
    double launch_ns; /* to start one kernel on all threads */
    struct cache_peak caches[PEAKS_MAX_CACHES]; /* the smallest first */
    size_t n_caches;
    bool is_raised; /* a scope of the run was faster than the probe */
};

/* The facts "machine.peak_gflops", "machine.read_gbs", "machine.write_gbs",
 * "machine.copy_gbs", "machine.launch_us" and, for levels 1 to 4,
 * "machine.l2_bytes" and "machine.l2_gbs", as they are, not raised. */
struct peaks peaks_of_facts(const struct run *run);

/* The highest rate at which a kernel that touches so many bytes can do that:
 * of the smallest cache that holds them, or else of memory. NaN: unknown. */
double peaks_gbs(const struct peaks *peaks, double bytes);

/* Something that touches so many bytes at a time reached these rates: a peak
 * that is known and below them is raised. */
void peaks_raise(struct peaks *peaks, double gflops, double bytes, double gbs);

/* Of one scope in one iteration, mean, with all that is below it; NaN where
 * it is not known. */
struct bound {
    enum bound_kind kind;
    double time_ns;    /* in all */
    double covered_ns; /* the part of it whose work is known */
    double macs;
    double gflops; /* of the direct algorithm: 2 FLOP a MAC, over time_ns */
    double done_flops, done_bytes;
    double done_gflops, gbs; /* of what was executed, over covered_ns */
    double intensity;        /* executed FLOP a byte moved */
    double floor_ns, share, saved_ns;
    double kind_ns[N_BOUND_KINDS]; /* covered_ns by what bounds it */
};

/* Nothing is known of it: where to start from. */
struct bound bound_unknown(void);
/* Both together, for a line that stands for several scopes. */
void bound_add(struct bound *into, const struct bound *from);

/* Those of all scopes of a run. */
struct bounds {
    struct peaks peaks;  /* raised to what was seen */
    struct bound *items; /* by scope */
    size_t n;
    bool is_known; /* at least one scope has a kind */
};

/* Start from {0}; released by the caller, also on failure. Without marked
 * iterations nobody knows how often the work was done: all is unknown. */
enum assay_status bounds_build(const struct run *run, struct bounds *out,
                               struct error *err);
void bounds_release(struct bounds *bounds);

#endif
