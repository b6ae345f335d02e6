/* run/run.h - what happened: one profiled run, however it was observed.
 *
 * A tree of scopes; for each scope, phase and thread the statistics of its
 * durations; every sample in full for a handful of iterations; counters; facts
 * about the machine and the settings; the arithmetic of each scope. The
 * recorder makes one, or it comes from a file or an imported trace; every view
 * reads it.
 *
 * A run stays small: its size depends on the number of scopes, not on how long
 * it lasted.
 *
 * Ids of scopes, phases, threads and counters are indexes from 0. Texts are
 * borrowed until run_free(). Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "base/error.h"
#include "base/str.h"
#include "run/sketch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run;

#define RUN_NONE    UINT32_MAX /* no parent; outside all iterations */
#define RUN_ANY     UINT32_MAX /* every phase, every thread */
#define RUN_UNKNOWN INT64_MIN  /* bytes that nobody measured */

/* No time, duration or sum of durations is larger, so that the difference of
 * two times, or a start plus a duration, fits in 64 bits: 73 years. */
#define RUN_MAX_NS ((int64_t)1 << 61)

enum {
    RUN_ROOT = 0,          /* the topmost scope; its samples are iterations */
    RUN_MAX_DEPTH = 4096,  /* of the tree; deeper scopes are refused */
    RUN_MAX_POINTS = 1000, /* per-iteration values kept per scope */
    RUN_FEWEST_PAIRS = 6   /* of iterations with and without recording, to say
                              what that costs; older runs may have fewer */
};

enum assay_status run_new(struct run **out, struct error *err);
void run_free(struct run *run); /* accepts NULL */

/* ---- the names -------------------------------------------------------- */

struct scope {
    uint32_t parent;                    /* RUN_NONE for the root */
    uint32_t depth;                     /* 0 for the root */
    uint32_t first_child, next_sibling; /* in order seen; RUN_NONE at the end */
    const char *name;
    const char *class_name; /* "" if it has none */
};

/* Finds the scope (parent, name, class) or adds it. class_name may be NULL.
 * Refuses a parent that does not exist and trees deeper than RUN_MAX_DEPTH. */
enum assay_status run_scope_add(struct run *run, uint32_t parent,
                                const char *name, const char *class_name,
                                uint32_t *id, struct error *err);
/* Finds without adding: *id is RUN_NONE if there is none. */
enum assay_status run_scope_find(const struct run *run, uint32_t parent,
                                 const char *name, const char *class_name,
                                 uint32_t *id, struct error *err);
size_t run_scope_count(const struct run *run); /* including the root */
const struct scope *run_scope(const struct run *run, uint32_t id);

/* Renames the root, "run" until then: "FasterRCNN", "pipeline". */
enum assay_status run_name_root(struct run *run, const char *name,
                                const char *class_name, struct error *err);

/* Appends "backbone.body.conv1"; the root's name is left out, except for the
 * root itself. */
enum assay_status run_scope_path(const struct run *run, uint32_t id,
                                 struct str *path);

/* The path relative to a scope above: "conv1" for backbone.body.conv1 below
 * backbone.body. The whole path if it does not lie below that scope. */
enum assay_status run_scope_path_below(const struct run *run, uint32_t above,
                                       uint32_t id, struct str *path);

/* The scope of a model's forward pass: the one called "model" directly below
 * the root. RUN_NONE if there is none. */
uint32_t run_model_scope(const struct run *run);

/* Phase 0 always exists and has no name. */
enum assay_status run_phase_add(struct run *run, const char *name, uint32_t *id,
                                struct error *err);
size_t run_phase_count(const struct run *run);
const char *run_phase_name(const struct run *run, uint32_t id);

/* What a thread is. */
#define RUN_THREAD_KINDS(X)                                                    \
    X(THREAD_CPU, "cpu")       /* a thread of a program */                     \
    X(THREAD_DEVICE, "device") /* a stream or queue of an accelerator */       \
    X(THREAD_ASYNC, "async")   /* spans that overlap freely */                 \
    X(THREAD_HELPER, "helper") /* works for others: its samples are kept, but  \
                                  not counted */

enum thread_kind {
#define RUN_THREAD_ENUM(name, text) name,
    RUN_THREAD_KINDS(RUN_THREAD_ENUM)
#undef RUN_THREAD_ENUM
};

const char *thread_kind_text(enum thread_kind kind);

struct run_thread {
    const char *name;
    enum thread_kind kind;
};

/* Always adds one; two threads may share a name. */
enum assay_status run_thread_add(struct run *run, const char *name,
                                 enum thread_kind kind, uint32_t *id,
                                 struct error *err);
enum assay_status run_thread_rename(struct run *run, uint32_t id,
                                    const char *name, struct error *err);
size_t run_thread_count(const struct run *run);
const struct run_thread *run_thread(const struct run *run, uint32_t id);

/* ---- samples ---------------------------------------------------------- */

struct sample {
    uint32_t scope;
    uint32_t phase;
    uint32_t thread;
    uint32_t iteration;  /* 0 is the first after warm-up; RUN_NONE: outside */
    int64_t start_ns;    /* since the run began */
    int64_t duration_ns; /* never negative */
    int64_t self_ns;     /* without the children, on the same thread */
    int64_t bytes;       /* gained while open, or RUN_UNKNOWN */
    int64_t peak_bytes;  /* most that was live while open, or RUN_UNKNOWN */
    int64_t queued_ns;   /* on a device: from its launch on the host to its
                            start; 0: unknown */
};

/* Counts the sample in the statistics. The samples of one thread must come with
 * iterations that never go back, as they do in order of their end. A sample of
 * RUN_ROOT is a whole iteration. ASSAY_BAD_INPUT if an id does not exist, a
 * duration is negative or the iterations go back. */
enum assay_status run_count(struct run *run, const struct sample *sample,
                            struct error *err);

/* Keeps the sample in full, without counting it. */
enum assay_status run_keep(struct run *run, const struct sample *sample,
                           struct error *err);
void run_forget_kept(struct run *run); /* all of them */

/* Kept samples by thread, start and depth: parents before children. run_seal()
 * sorts them. */
size_t run_kept_count(const struct run *run);

/* How much of what was counted is kept in full. */
struct kept_share {
    uint64_t iterations, of_iterations; /* of_iterations 0: none are marked */
    uint64_t samples, of_samples;       /* without those of iterations */
};

struct kept_share run_kept_share(const struct run *run);

const struct sample *run_kept(const struct run *run, size_t i);

/* Ends the counting: the last iteration of every scope is now complete. Call it
 * once, before reading statistics. */
enum assay_status run_seal(struct run *run, struct error *err);

/* ---- iterations ------------------------------------------------------- */

struct iteration {
    uint32_t index;
    uint32_t thread;
    int64_t start_ns;
    int64_t duration_ns;
};

/* How many were counted, and the at most RUN_MAX_POINTS that are kept one by
 * one, in order. */
uint64_t run_iteration_count(const struct run *run);
size_t run_iterations_kept(const struct run *run);
const struct iteration *run_iteration(const struct run *run, size_t i);

/* If no iterations are marked, every call of a scope counts as one. */
bool run_has_iterations(const struct run *run);

/* ---- the iterations that count ---------------------------------------- */

/* The figures of a run (its tree, stages, tables, comparisons) are means over
 * the same iterations: all that were measured, except those that something else
 * disturbed. docs/statistics.md has the rule; run_seal() applies it. */
struct counted_iterations {
    uint64_t n;         /* iterations that count */
    size_t n_disturbed; /* left out */
};

struct counted_iterations run_counted(const struct run *run);
/* Of a run with more than RUN_MAX_POINTS iterations, some of which were
 * disturbed, only kept ones count. */
bool run_iteration_counts(const struct run *run, uint32_t iteration);
bool run_iteration_is_disturbed(const struct run *run, uint32_t iteration);

/* ---- statistics ------------------------------------------------------- */

/* One scope in one iteration: the sum over its calls. */
struct point {
    uint32_t iteration;
    uint32_t calls;
    int64_t total_ns;
    int64_t self_ns;
};

/* Count, moments and percentiles of some values. */
struct dist {
    uint64_t n;
    double mean, m2; /* m2: sum of squared differences from the mean */
    int64_t min, max;
    struct sketch sketch;
};

void dist_release(struct dist *dist); /* initialise to {0} */
enum assay_status dist_add(struct dist *dist, int64_t value);
enum assay_status dist_merge(struct dist *into, const struct dist *from);
double dist_sd(const struct dist *dist); /* 0 below two values */
double dist_percentile(const struct dist *dist, double percent);

/* What was counted for one (scope, phase, thread), inside or outside the
 * iterations. All views derive from these. */
struct cell {
    uint32_t scope, phase, thread;
    bool is_outside; /* outside all iterations */
    int64_t total_ns, self_ns;
    int64_t bytes;          /* most gained by one call, or RUN_UNKNOWN */
    int64_t peak_bytes;     /* most live during one call, or RUN_UNKNOWN */
    struct dist calls;      /* one value per call */
    struct dist iterations; /* one per iteration it was called in */
    struct point *points;   /* at most RUN_MAX_POINTS of those, in order */
    size_t n_points, points_capacity;
    uint32_t stride;   /* one in `stride` iterations is kept: run_is_kept() */
    struct point open; /* the current one; calls 0: none */
};

/* Whether an iteration is kept at a stride (a power of two). The same for every
 * cell; spread evenly but not regularly, so that a scope called every second
 * time is not missed; a larger stride keeps a subset. */
bool run_is_kept(uint32_t iteration, uint32_t stride);

size_t run_cell_count(const struct run *run);
const struct cell *run_cell(const struct run *run, size_t i);

/* The sums of a cell over the iterations that count; over all calls if it is
 * outside the iterations. */
struct cell_sums {
    double calls, total_ns, self_ns;
};

struct cell_sums run_cell_sums(const struct run *run, const struct cell *cell);

/* Whether run_scope_stats() includes the cell: every cell except those of a
 * device in a scope that a host thread was in too. */
bool run_cell_is_scope_time(const struct run *run, const struct cell *cell);

/* Adds a cell read from a file. Takes over its memory, even on failure. */
enum assay_status run_cell_take(struct run *run, struct cell *cell,
                                struct error *err);

/* Adds an iteration read from a file, without counting it. */
enum assay_status run_iteration_restore(struct run *run,
                                        const struct iteration *iteration,
                                        struct error *err);
void run_iteration_count_restore(struct run *run, uint64_t n);

/* A scope over all threads, in one phase or all. Times are statistics over
 * iterations, or over calls if no iterations are marked. Means are over the
 * iterations that count, even those without a call, so that a tree of means
 * adds up; the other statistics are over all with a call. */
struct scope_stats {
    uint64_t calls;                   /* total */
    uint64_t n;                       /* iterations it was called in */
    double calls_each;                /* mean calls in such an iteration */
    double total_ns;                  /* sum over all calls */
    double self_ns;                   /* sum over all calls, without children */
    double mean_ns, mean_self_ns;     /* of an iteration's total */
    double mean_low_ns, mean_high_ns; /* 95 % interval; NaN: too few */
    double sd_ns;
    double median_ns, median_low_ns, median_high_ns; /* the same */
    double p5_ns, p95_ns, p99_ns; /* NaN: too few, see stats_carries() */
    double min_ns, max_ns;
    int64_t bytes, peak_bytes; /* RUN_UNKNOWN if nobody measured */
    bool is_outside;           /* seen only outside the marked iterations */
};

/* Statistics with nothing known. */
struct scope_stats scope_stats_unknown(void);

/* Host time, or device time if no host thread was in the scope. A scope that
 * was never called but has children that were is a group: its calls are 0,
 * total_ns and mean_ns are the sums of its children, percentiles are NaN. */
enum assay_status run_scope_stats(const struct run *run, uint32_t scope,
                                  uint32_t phase, struct scope_stats *out,
                                  struct error *err);

/* What devices did for a scope and everything below it, on all queues: the sum
 * of each span's time without the spans inside it. self_ns is the scope's
 * alone; n, the percentiles and the mean are over iterations as above. calls is
 * 0 if no device did anything. Queues that work at the same time add up. */
enum assay_status run_scope_device_stats(const struct run *run, uint32_t scope,
                                         uint32_t phase,
                                         struct scope_stats *out,
                                         struct error *err);

/* Whether a device did something in the iterations for a scope that a host
 * thread was in too, as it launched it. */
bool run_has_device(const struct run *run);

/* What devices did for a scope and everything below it in each iteration that
 * all of their cells keep, in order of iteration. The caller frees *points with
 * mem_free(). */
enum assay_status run_scope_device_points(const struct run *run, uint32_t scope,
                                          struct point **points, size_t *n,
                                          struct error *err);
/* The same for all scopes. */
enum assay_status run_device_points(const struct run *run,
                                    struct point **points, size_t *n,
                                    struct error *err);

/* The kept points of a scope, summed over threads and the phases asked for, in
 * order of iteration. The caller frees *points with mem_free(). */
enum assay_status run_scope_points(const struct run *run, uint32_t scope,
                                   uint32_t phase, struct point **points,
                                   size_t *n, struct error *err);

/* The order-statistics interval of the median of n sorted values, without
 * assumptions about their distribution (Conover 1999, 3.2). NaN if even the
 * extremes hold it with less than the confidence: below 6 values for 95 %. */
void stats_median_interval(const double *sorted, size_t n, double confidence,
                           double *low, double *high);
double stats_quantile(const double *sorted, size_t n, double q);
/* Whether n values say anything about a quantile: one of them is expected
 * beyond it. 20 for the 95th percentile, 100 for the 99th. */
bool stats_carries(uint64_t n, double q);

/* The mean of values in order of time. */
struct mean {
    size_t n;
    double mean;
    double variance;  /* of the mean, if the values were independent; NaN below
                         two */
    double lag1;      /* correlation of neighbours, corrected for its bias */
    double low, high; /* 95 % interval, widened for correlated neighbours; NaN
                         below 5 values, or 3 independent ones */
};

struct mean stats_mean(const double *values, size_t n);

/* ---- steadiness ------------------------------------------------------- */

enum steadiness {
    STEADY,
    STEADY_TOO_FEW,  /* fewer than 10 iterations */
    STEADY_DRIFTING, /* later iterations differ from earlier ones */
    STEADY_OUTLIERS, /* some iterations are far off */
    STEADY_NOISY     /* the interval of the median is wide */
};

struct verdict {
    enum steadiness steadiness;
    double drift;         /* last third against first; 0.06: 6 % slower */
    size_t n_outliers, n; /* slow by the rule of run_outliers() */
    double median_width;  /* of the 95 % interval, relative to the median */
    double noise;         /* scaled MAD relative to the median */
    char text[160];       /* the verdict in words, with its cause */
};

enum assay_status run_verdict(const struct run *run, struct verdict *out,
                              struct error *err);

/* What set an iteration apart from the others, according to the series. */
#define RUN_OUTLIER_CAUSES(X)                                                  \
    X(OUTLIER_UNKNOWN, "no cause was seen")                                    \
    X(OUTLIER_CONTENT, "its photograph")                                       \
    X(OUTLIER_DISK, "reading from disk")                                       \
    X(OUTLIER_LOAD, "other work on the machine")                               \
    X(OUTLIER_PAGES, "pages touched for the first time")                       \
    X(OUTLIER_FREQUENCY, "a lower frequency")                                  \
    X(OUTLIER_MIGRATION, "moved to another processor")

enum outlier_cause {
#define RUN_OUTLIER_ENUM(name, text) name,
    RUN_OUTLIER_CAUSES(RUN_OUTLIER_ENUM)
#undef RUN_OUTLIER_ENUM
        N_OUTLIER_CAUSES
};

const char *outlier_cause_text(enum outlier_cause cause);

/* An iteration that took much longer than the median: a slow one. */
struct outlier {
    uint32_t iteration;
    int64_t duration_ns;
    enum outlier_cause cause;
};

/* What else the machine did meanwhile; NaN if nobody looked. */
struct run_load {
    double processors; /* of the machine */
    double others;     /* mean number busy with other programs */
    double stolen;     /* of those, with other guests of the same host */
    double throttled;  /* mean number held back by a container's limit */
    double wait_ns;    /* mean wait for a processor per iteration */
    double wait_share;
    bool is_disturbed; /* the times say more about that than about us: we waited
                          for others for more than a twentieth of the time, or
                          they took more than a fifth of a processor from us */
};

void run_load(const struct run *run, struct run_load *out);
/* Whether other programs took less than half of the time that was waited for:
 * then threads of the run waited for each other. */
bool run_load_is_own(const struct run_load *load);
bool run_is_disturbed(const struct run *run);

/* The slow iterations, in order; free with mem_free(). They took longer than
 * the median by more than 5 scaled MADs and by more than 2 %; there are none
 * below 5 iterations. */
enum assay_status run_outliers(const struct run *run, struct outlier **out,
                               size_t *n, struct error *err);

/* ---- counters and facts ----------------------------------------------- */

struct counter_point {
    int64_t time_ns;
    double value;
};

struct counter {
    const char *name;
    const char *unit; /* "bytes", "" */
    uint64_t n;
    double mean, min, max, last;
    struct counter_point *points; /* thinned evenly if there were many */
    size_t n_points, points_capacity;
    uint32_t stride;
};

enum assay_status run_counter_add(struct run *run, const char *name,
                                  const char *unit, uint32_t *id,
                                  struct error *err);
enum assay_status run_counter_count(struct run *run, uint32_t id,
                                    int64_t time_ns, double value,
                                    struct error *err);
/* Adds one read from a file; takes over its points, even on failure. */
enum assay_status run_counter_restore(struct run *run, struct counter *counter,
                                      struct error *err);
size_t run_counters(const struct run *run);
const struct counter *run_counter(const struct run *run, uint32_t id);

/* Facts: "machine.cpu", "settings.threads". Setting one again replaces it. */
enum assay_status run_fact_set(struct run *run, const char *key,
                               const char *value, struct error *err);
enum assay_status run_fact_printf(struct run *run, struct error *err,
                                  const char *key, const char *format, ...)
    ASSAY_PRINTF(4, 5);
const char *run_fact(const struct run *run, const char *key); /* or NULL */
/* NaN if it does not exist or is not a number. */
double run_fact_number(const struct run *run, const char *key);
/* Images per iteration; NaN if the run does not say. */
double run_images_each(const struct run *run);
size_t run_fact_count(const struct run *run);
void run_fact_at(const struct run *run, size_t i, const char **key,
                 const char **value);

/* ---- what a model found in photographs -------------------------------- */

/* Only a run that was just made has these; its file does not. */
struct found_object {
    const char *name; /* of the class, or its number */
    int64_t label;
    double score;
    bool has_box;
    double box[4]; /* x1, y1, x2, y2 in pixels of the photograph */
};

struct found_photo {
    const char *photograph; /* its file name */
    const struct found_object *objects;
    size_t n;
};

/* Copies all of it. */
enum assay_status run_found_add(struct run *run,
                                const struct found_photo *photo,
                                struct error *err);
size_t run_found_count(const struct run *run);
const struct found_photo *run_found(const struct run *run, size_t i);

/* ---- series: one value per iteration ---------------------------------- */

/* What was observed of each iteration besides its duration: what was in the
 * photograph ("content.detections"), how the machine behaved
 * ("steady.page_faults"). Values that are names (of photographs) are indexes
 * into labels.
 *
 * The series of a training ("train.loss") are numbered by step instead:
 * `iteration` is how many steps came before, including warm-up, so that no loss
 * is missing and a resumed training goes on where it was. */
struct series_point {
    uint32_t iteration;
    double value;
};

struct series {
    const char *name;
    const char *unit; /* "ms", "" */
    const char **labels;
    size_t n_labels, labels_capacity;
    struct series_point *points; /* at most RUN_MAX_POINTS, in order */
    size_t n_points, points_capacity;
    uint32_t stride; /* one in `stride` iterations is kept: run_is_kept() */
};

/* Finds the series by name or adds it. */
enum assay_status run_series_add(struct run *run, const char *name,
                                 const char *unit, uint32_t *id,
                                 struct error *err);
/* Adds a label; the first one is 0. */
enum assay_status run_series_label(struct run *run, uint32_t id,
                                   const char *label, struct error *err);
/* Iterations must increase; values are finite, and indexes if the series has
 * labels. */
enum assay_status run_series_put(struct run *run, uint32_t id,
                                 uint32_t iteration, double value,
                                 struct error *err);
/* Sets the stride before the first value, for a series from a file that was
 * already thinned. */
enum assay_status run_series_restore(struct run *run, uint32_t id,
                                     uint32_t stride, struct error *err);
/* Whether it is numbered by the steps of a training. */
bool series_is_by_step(const struct series *series);
/* The step that an iteration of a training is, from 1; 0 if it is not a
 * training. */
uint64_t run_step_of(const struct run *run, uint32_t iteration);
/* Numbers the series of a training by step. Old runs number them by iteration,
 * with the steps in a series "train.step". */
void run_series_number_steps(struct run *run);
/* Copies a series of another run, from iteration `first` to `last`. */
/* A series of another run, from iteration `first` to `last`. */
enum assay_status run_series_copy(struct run *to, const struct series *from,
                                  uint64_t first, uint64_t last,
                                  struct error *err);
size_t run_series_count(const struct run *run);
const struct series *run_series(const struct run *run, uint32_t id);
/* By name; NULL if there is none. */
const struct series *run_series_find(const struct run *run, const char *name);
/* Its value in an iteration; false if that is not kept. */
bool series_value(const struct series *series, uint32_t iteration,
                  double *value);
/* The label of a point, or NULL if its series has none. */
const char *series_label(const struct series *series,
                         const struct series_point *point);

/* ---- arithmetic ------------------------------------------------------- */

/* The work of a scope itself per iteration, without the scopes below it; NaN if
 * unknown. macs counts the multiply-adds of convolutions and products as in the
 * direct algorithm, flops all other arithmetic; done_flops and done_bytes are
 * what the kernel that ran really executed and moved (Winograd: its own
 * products and transforms). kept_bytes is what a forward pass keeps for the
 * backward pass. */
struct scope_work {
    double macs, flops;
    double read_bytes, write_bytes;
    double parameters;
    double done_flops, done_bytes;
    double kept_bytes;
    uint32_t done_by; /* the scope it was fused into, or RUN_NONE */
};

/* Work with nothing known: start from this. */
struct scope_work scope_work_unknown(void);

/* Setting it again replaces it. Refuses scopes that do not exist, values that
 * are negative or infinite, and a done_by that is itself done by another: it
 * must name the scope that really does the work, so there are no cycles. */
enum assay_status run_work_set(struct run *run, uint32_t scope,
                               const struct scope_work *work,
                               struct error *err);
/* NULL if none was set; borrowed until the next is set. */
const struct scope_work *run_work(const struct run *run, uint32_t scope);
/* Whether run_work_set() would take done_by for the scope. */
bool run_can_be_done_by(const struct run *run, uint32_t scope,
                        uint32_t done_by);
bool run_has_work(const struct run *run);

/* A scope's work in words: "1x64x56x56 -> 1x64x56x56"; the kernel that did it.
 * "" if unknown. */
struct scope_text {
    const char *shapes, *kernel;
};

/* Copies the texts. */
enum assay_status run_text_set(struct run *run, uint32_t scope,
                               const struct scope_text *text,
                               struct error *err);
/* NULL if none was set; borrowed until the next is set. */
const struct scope_text *run_text(const struct run *run, uint32_t scope);
bool run_has_text(const struct run *run);

/* ---- edges -------------------------------------------------------------- */

/* A scope computes with what another one computed. RUN_NONE: from is an input
 * of the model, to an output. */
struct run_edge {
    uint32_t from, to;
};

/* Edges that lead from a scope to itself are left out, and those that are there
 * already if they come in a row. */
enum assay_status run_edge_add(struct run *run, const struct run_edge *edge,
                               struct error *err);
size_t run_edge_count(const struct run *run);
const struct run_edge *run_edge(const struct run *run, size_t i);

/* ---- health and memory ------------------------------------------------ */

/* What went wrong while recording; all zero in a good run. */
struct run_health {
    uint64_t lost_spans;      /* could not be kept */
    uint64_t unbalanced_ends; /* an end without a begin */
    uint64_t open_at_end;     /* a begin without an end */
    uint64_t too_deep;        /* nested deeper than the recorder records */
    uint64_t warm_up;         /* iterations left out of the statistics */
    bool is_incomplete;       /* the program did not stop the recording */
};

struct run_health *run_health(struct run *run);
const struct run_health *run_health_of(const struct run *run);

/* The most bytes live at once, and the scope that was open then. */
struct run_memory {
    int64_t peak_bytes; /* RUN_UNKNOWN until measured */
    uint32_t peak_scope;
    int64_t peak_ns;
};

struct run_memory *run_memory(struct run *run);
const struct run_memory *run_memory_of(const struct run *run);

/* How much memory a space ("host", "cuda:0") held, in total and by category. */
struct space_row {
    const char *space;
    const char *category;  /* "weights"; "": the space as a whole */
    int64_t live_bytes;    /* at the end; negative: more was given back */
    int64_t peak_bytes;    /* most at once */
    int64_t at_peak_bytes; /* at the peak of the space as a whole */
};

/* Bytes taken, or with a negative delta given back, in order of time. */
enum assay_status run_space_change(struct run *run, const char *space,
                                   const char *category, int64_t delta,
                                   struct error *err);
/* Adds a row read from a file. */
enum assay_status run_space_restore(struct run *run,
                                    const struct space_row *row,
                                    struct error *err);
size_t run_space_count(const struct run *run);
/* A space as a whole comes before its categories. */
const struct space_row *run_space(const struct run *run, size_t i);
/* NULL if there is none. */
const struct space_row *run_space_find(const struct run *run, const char *space,
                                       const char *category);

/* A fact: how many of the iterations have device times, if not all do. */
#define RUN_DEVICE_TIMED "device.timed_iterations"

/* The counter with the live bytes over one iteration. Those that follow it with
 * a full stop, a space and a category ("memory.live.host.weights") say whose
 * bytes they were. */
#define RUN_LIVE_BYTES "memory.live"
bool run_is_live_bytes(
    const char *counter); /* the first or one of the others */

/* Who owned the bytes at the peak. The first group adds up to
 * run_memory.peak_bytes. Together with the second it adds up to the process's
 * own peak, the fact "memory.process_peak_bytes", or exceeds it by memory that
 * was taken but never touched, the fact "memory.untouched_bytes". */
#define RUN_LEDGER_KINDS(X)                                                    \
    X(LEDGER_WEIGHTS, "weights")                                               \
    X(LEDGER_ACTIVATIONS, "activations")                                       \
    X(LEDGER_GRADIENTS, "gradients")                                           \
    X(LEDGER_OPTIMIZER, "optimizer state")                                     \
    X(LEDGER_SCRATCH, "scratch")                                               \
    X(LEDGER_IMAGES, "images")                                                 \
    X(LEDGER_FRAGMENTATION, "fragmentation")                                   \
    X(LEDGER_OUTSIDE, "outside the pool")

enum ledger_kind {
#define RUN_LEDGER_ENUM(name, text) name,
    RUN_LEDGER_KINDS(RUN_LEDGER_ENUM)
#undef RUN_LEDGER_ENUM
};

enum { N_LEDGER_KINDS = LEDGER_OUTSIDE + 1 };

const char *ledger_kind_text(enum ledger_kind kind);

struct ledger_row {
    enum ledger_kind kind;
    uint32_t scope;   /* RUN_NONE: no scope */
    int64_t bytes;    /* never negative */
    const char *what; /* "mapped weights", "" if the kind says it */
};

/* Copies the row. */
enum assay_status run_ledger_add(struct run *run, const struct ledger_row *row,
                                 struct error *err);
size_t run_ledger_count(const struct run *run);
/* The sum of all rows of a kind. */
int64_t run_ledger_sum(const struct run *run, enum ledger_kind kind);
const struct ledger_row *run_ledger(const struct run *run, size_t i);

/* From the first begin to the last end. */
int64_t run_duration_ns(const struct run *run);
void run_duration_set(struct run *run, int64_t duration_ns);

/* ---- whole runs ------------------------------------------------------- */

/* Which part of a run to keep. Iterations first to last, inclusive; statistics
 * of a range come from the kept points. */
struct run_filter {
    const char *phase;  /* NULL: all */
    const char *thread; /* NULL: all; otherwise all with this name */
    uint64_t first_iteration, last_iteration; /* 0 and UINT64_MAX: all */
};

/* A new, sealed run with what the filter lets through. If a phase or thread
 * does not exist: ASSAY_NOT_FOUND, with a list of those that do. */
enum assay_status run_subset(const struct run *run,
                             const struct run_filter *filter, struct run **out,
                             struct error *err);

/* Whether a filter left out part of the iterations it kept: times are then of
 * that part, but work and counters of whole iterations. */
bool run_is_part(const struct run *run);

/* Appends another run's iterations: equal scopes are joined, new ones added.
 * Facts and edges of `into` win, work becomes the mean over all iterations; the
 * ledger and the live bytes are those of the run with the higher peak. */
enum assay_status run_merge(struct run *into, const struct run *from,
                            struct error *err);

#endif
