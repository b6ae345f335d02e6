/* assay/run.h - reading a run: what was recorded, statistic by statistic.
 *
 *     struct assay_run *run;
 *     struct assay_run_stats stats;
 *     struct assay_error error = {0};
 *
 *     if (assay_run_open("run.assay", &run, &error))
 *         fprintf(stderr, "%s\n", error.text);
 *     for (uint32_t i = 0; i < assay_run_scope_count(run); i++)
 *         if (!assay_run_stats_of(run, i, NULL, ASSAY_LANE_THREAD, &stats, 0))
 *             printf("%s %g ms\n", assay_run_path(run, i),
 *                    stats.mean_ns / 1e6);
 *     assay_run_close(run);
 *
 * Scopes, phases, lanes, counters and series are numbered from 0. Texts belong
 * to the run and are valid until it is closed. For a number that does not
 * exist, a function returns 0, NULL or "", and leaves *out unchanged. Times are
 * nanoseconds since the run began; NaN and ASSAY_RUN_UNKNOWN mean that nobody
 * measured it.
 *
 * Use a run from one thread at a time.
 *
 * SPDX-License-Identifier: MIT */
#ifndef ASSAY_RUN_H
#define ASSAY_RUN_H

#include <assay/lane.h>
#include <assay/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_RUN_NONE    UINT32_MAX /* no scope; outside all iterations */
#define ASSAY_RUN_UNKNOWN INT64_MIN  /* bytes that nobody measured */

struct assay_run;

/* Reads a whole run file: a finished one, or the .part file of a program that
 * still records or was killed. The caller closes *out, which is NULL on
 * failure. */
ASSAY_API enum assay_status assay_run_open(const char *path,
                                           struct assay_run **out,
                                           struct assay_error *error);
ASSAY_API void assay_run_close(struct assay_run *run); /* accepts NULL */

/* From the beginning to the last end. */
ASSAY_API int64_t assay_run_duration_ns(const struct assay_run *run);

/* What went wrong while recording; all 0 in a good run. */
struct assay_run_health {
    uint64_t lost_spans, unbalanced_ends, open_at_end, too_deep;
    uint64_t warm_up;  /* iterations left out */
    int is_incomplete; /* the program did not stop the recording */
};

ASSAY_API void assay_run_health_of(const struct assay_run *run,
                                   struct assay_run_health *out);

/* ---- facts ------------------------------------------------------------- */

/* "machine.cpu", and those set by assay_fact(); NULL if there is none. */
ASSAY_API const char *assay_run_fact(const struct assay_run *run,
                                     const char *key);
ASSAY_API size_t assay_run_fact_count(const struct assay_run *run);
ASSAY_API int assay_run_fact_at(const struct assay_run *run, size_t i,
                                const char **key, const char **value);

/* ---- scopes ------------------------------------------------------------ */

/* A place in the tree. Scope 0 is the root; its calls are the iterations. A
 * parent's number is smaller than its children's. */
struct assay_run_scope {
    uint32_t parent;                    /* ASSAY_RUN_NONE for the root */
    uint32_t depth;                     /* 0 for the root */
    uint32_t first_child, next_sibling; /* ASSAY_RUN_NONE at the end */
    const char *name;
    const char *class_name; /* "" if it has none */
};

ASSAY_API size_t assay_run_scope_count(const struct assay_run *run);
ASSAY_API int assay_run_scope_at(const struct assay_run *run, uint32_t scope,
                                 struct assay_run_scope *out);

/* "backbone.body.conv1"; NULL if memory runs out. */
ASSAY_API const char *assay_run_path(struct assay_run *run, uint32_t scope);
/* The first scope with that path; ASSAY_RUN_NONE if there is none. */
ASSAY_API uint32_t assay_run_find(struct assay_run *run, const char *path);

/* Phase 0 has the name "" and is everything outside a phase. */
ASSAY_API size_t assay_run_phase_count(const struct assay_run *run);
ASSAY_API const char *assay_run_phase(const struct assay_run *run,
                                      uint32_t phase);

/* Host threads and device queues. */
ASSAY_API size_t assay_run_lane_count(const struct assay_run *run);
ASSAY_API const char *assay_run_lane(const struct assay_run *run, uint32_t lane,
                                     enum assay_lane_kind *kind);

/* ---- statistics -------------------------------------------------------- */

/* Statistics of a scope over iterations, or over calls if no iterations are
 * marked. Means divide by all iterations of the run, so that a tree of means
 * adds up; percentiles are over the iterations with a call. */
struct assay_run_stats {
    uint64_t calls;    /* total; 0: it only groups others, or never ran */
    uint64_t n;        /* iterations it was called in */
    double calls_each; /* mean calls in such an iteration */
    double total_ns, self_ns;
    double mean_ns, sd_ns, mean_self_ns;             /* per iteration */
    double median_ns, median_low_ns, median_high_ns; /* 95 % interval */
    double p5_ns, p95_ns, p99_ns, min_ns, max_ns;
    int64_t bytes, peak_bytes; /* gained by a call, and most live in one */
    int is_outside;            /* seen only outside the marked iterations */
};

/* In one phase, or in all with NULL. side: ASSAY_LANE_THREAD is host time, or
 * device time if only devices ran the scope; ASSAY_LANE_DEVICE is what devices
 * did for the scope and everything below it. */
ASSAY_API enum assay_status
assay_run_stats_of(const struct assay_run *run, uint32_t scope,
                   const char *phase, enum assay_lane_kind side,
                   struct assay_run_stats *out, struct assay_error *error);

/* The work of the scope itself per iteration, without the scopes below it.
 * done_flops and done_bytes are what the kernel really executed and moved. */
struct assay_run_work {
    double macs, flops, bytes_read, bytes_written, parameters;
    double done_flops, done_bytes;
    double kept_bytes; /* kept until the backward pass */
    uint32_t done_by;  /* the scope it was fused into, or ASSAY_RUN_NONE */
    const char *shapes, *kernel; /* "" if unknown */
};

/* 0 if nothing is known. */
ASSAY_API int assay_run_work_of(const struct assay_run *run, uint32_t scope,
                                struct assay_run_work *out);

/* ---- iterations and samples -------------------------------------------- */

struct assay_run_iteration {
    uint32_t index; /* 0 is the first after the warm-up */
    uint32_t lane;
    int64_t start_ns, duration_ns;
};

/* How many there were, and those that were kept one by one, in order. */
ASSAY_API uint64_t assay_run_iteration_total(const struct assay_run *run);
ASSAY_API size_t assay_run_iteration_count(const struct assay_run *run);
ASSAY_API int assay_run_iteration_at(const struct assay_run *run, size_t i,
                                     struct assay_run_iteration *out);

/* A single call, kept in full. */
struct assay_run_sample {
    uint32_t scope, phase, lane;
    uint32_t iteration; /* ASSAY_RUN_NONE: outside all */
    int64_t start_ns, duration_ns, self_ns;
    int64_t bytes, peak_bytes;
    int64_t queued_ns; /* from its launch to its start; 0: unknown */
};

/* In order of lane and start, parents before children. */
ASSAY_API size_t assay_run_sample_count(const struct assay_run *run);
ASSAY_API int assay_run_sample_at(const struct assay_run *run, size_t i,
                                  struct assay_run_sample *out);

/* ---- series and counters ----------------------------------------------- */

/* One value per iteration ("content.detections", "train.loss"). */
struct assay_run_series {
    const char *name, *unit;
    size_t n_points, n_labels;
};

ASSAY_API size_t assay_run_series_count(const struct assay_run *run);
ASSAY_API int assay_run_series_at(const struct assay_run *run, uint32_t series,
                                  struct assay_run_series *out);
/* *label is NULL if the point has none. */
ASSAY_API int assay_run_series_point(const struct assay_run *run,
                                     uint32_t series, size_t i,
                                     uint32_t *iteration, double *value,
                                     const char **label);

/* A value over time. */
struct assay_run_counter {
    const char *name, *unit;
    uint64_t n;
    double mean, min, max, last;
    size_t n_points; /* an evenly spaced subset of the n */
};

ASSAY_API size_t assay_run_counter_count(const struct assay_run *run);
ASSAY_API int assay_run_counter_at(const struct assay_run *run,
                                   uint32_t counter,
                                   struct assay_run_counter *out);
ASSAY_API int assay_run_counter_point(const struct assay_run *run,
                                      uint32_t counter, size_t i,
                                      int64_t *time_ns, double *value);

/* ---- memory ------------------------------------------------------------ */

/* The most that assay_bytes() counted as live, or ASSAY_RUN_UNKNOWN. *scope is
 * the scope that was open then. */
ASSAY_API int64_t assay_run_peak_bytes(const struct assay_run *run,
                                       uint32_t *scope);

/* A memory space as a whole (category "") or one category in it. */
struct assay_run_space {
    const char *space, *category;
    int64_t live_bytes, peak_bytes;
    int64_t at_peak_bytes; /* when the space as a whole held the most */
};

ASSAY_API size_t assay_run_space_count(const struct assay_run *run);
ASSAY_API int assay_run_space_at(const struct assay_run *run, size_t i,
                                 struct assay_run_space *out);

#ifdef __cplusplus
}
#endif
#endif
