/* run/bound.h - how far the scopes of a run are from what the machine can do.
 *
 * GFLOP/s count the direct algorithm's work, whatever algorithm ran. Bounds,
 * shares and floors come from what was executed (scope_work.done_flops and
 * done_bytes) and from the machine's peaks, which are facts of the run:
 *
 *   floor = the largest of done_flops / peak, done_bytes / bandwidth and
 *           calls * launch: a machine like this one cannot be faster
 *   share = floor / time, so never above 1
 *   saved = time - floor
 *
 * A scope is bound by whatever makes up its floor; if neither arithmetic nor
 * memory explains a third of the time, it is bound by latency. For a scope with
 * others below it the floors are added up, and it is bound by what bounds two
 * thirds of their time. If less than half of its time has known work, its bound
 * is unknown.
 *
 * Host and device times are never mixed: the time of a scope that devices
 * worked for, itself or below it, is theirs. The peaks of such a run are the
 * device's, so what the host computed itself has no bound.
 *
 * If other work disturbed the run (run_is_disturbed()), no scope has a kind:
 * the time that other programs took would look like latency.
 *
 * A call that takes less than a launch did not start all threads, so its floor
 * has no launch. A peak is the best ever seen: if a scope of this run is faster
 * than the probe was (because other programs ran then, or the machine was
 * colder), the peak is raised to that.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_BOUND_H
#define RUN_BOUND_H

#include "run/run.h"

#define RUN_BOUND_KINDS(X)                                                     \
    X(BOUND_UNKNOWN, "-")       /* the work or the machine is unknown */       \
    X(BOUND_COMPUTE, "compute") /* arithmetic */                               \
    X(BOUND_MEMORY, "memory")   /* moving data */                              \
    X(BOUND_LATENCY, "latency") /* starting kernels, waiting, one thread */    \
    X(BOUND_MIXED, "mixed")     /* none of them for two thirds of the time */

enum bound_kind {
#define RUN_BOUND_ENUM(name, text) name,
    RUN_BOUND_KINDS(RUN_BOUND_ENUM)
#undef RUN_BOUND_ENUM
        N_BOUND_KINDS
};

const char *bound_kind_text(enum bound_kind kind);

/* All caches of one level together, and the rate of reading from them. */
struct cache_peak {
    int level; /* 2 or 3 */
    double bytes, gbs;
};

enum { PEAKS_MAX_CACHES = 3 };

/* The machine's best with the threads of the run; NaN if unknown. Rates of
 * bytes are in 1e9 per second. */
struct peaks {
    double gflops; /* fp32 */
    double read_gbs, write_gbs, copy_gbs;
    double launch_ns; /* to start one kernel on all threads */
    struct cache_peak caches[PEAKS_MAX_CACHES]; /* smallest first */
    size_t n_caches;
    bool is_raised; /* a scope of the run was faster than the probe */
};

/* From the facts "machine.peak_gflops", "machine.read_gbs",
 * "machine.write_gbs", "machine.copy_gbs", "machine.launch_us" and, for levels
 * 1 to 4, "machine.l2_bytes" and "machine.l2_gbs"; not raised. */
struct peaks peaks_of_facts(const struct run *run);

/* The highest rate for a kernel that touches this many bytes: that of the
 * smallest cache that holds them, or of memory. NaN: unknown. */
double peaks_gbs(const struct peaks *peaks, double bytes);

/* Raises the known peaks to rates that something moving this many bytes at a
 * time has reached. Bytes that the caches could have held for a part of the
 * time say nothing about memory, and leave its peak. */
void peaks_raise(struct peaks *peaks, double gflops, double bytes, double gbs);

/* One scope with everything below it, mean per iteration; NaN if unknown. */
struct bound {
    enum bound_kind kind;
    double time_ns;    /* total */
    double covered_ns; /* the part whose work is known */
    double macs;
    double gflops; /* of the direct algorithm: 2 FLOP per MAC, over time_ns */
    double done_flops, done_bytes;
    double done_gflops, gbs; /* of what was executed, over covered_ns */
    double intensity;        /* executed FLOP per byte moved */
    double floor_ns, share, saved_ns;
    double kind_ns[N_BOUND_KINDS]; /* covered_ns by what bounds it */
};

/* A bound with nothing known: start from this. */
struct bound bound_unknown(void);
/* Adds up two, for a line that stands for several scopes. */
void bound_add(struct bound *into, const struct bound *from);

/* The bounds of all scopes of a run. */
struct bounds {
    struct peaks peaks;  /* raised to what was seen */
    struct bound *items; /* by scope */
    size_t n;
    bool is_known; /* at least one scope has a kind */
};

/* Initialise to {0}; the caller releases it, even on failure. If no iterations
 * are marked, nobody knows how often the work was done: all is unknown. */
enum assay_status bounds_build(const struct run *run, struct bounds *out,
                               struct error *err);
void bounds_release(struct bounds *bounds);

#endif
