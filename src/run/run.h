/* run/run.h - what happened: one profiled run, however it was observed.
 *
 * A tree of scopes; for each scope, phase and thread the statistics of its
 * durations; every sample in full for a handful of iterations; counters; facts
 * about the machine and the settings; the arithmetic of each scope. Made by the
 * recorder, by loading a file, or by importing a trace; read by every view.
 *
 * A run stays small: its size depends on the number of scopes, not on how long
 * it lasted.
 *
 * Ids of scopes, phases, threads and counters are indexes from 0. Text handed
 * out is borrowed until run_free(). Not thread-safe.
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

#define RUN_NONE    UINT32_MAX /* no parent; an iteration outside of all */
#define RUN_ANY     UINT32_MAX /* every phase, every thread */
#define RUN_UNKNOWN INT64_MIN  /* bytes that nobody measured */

/* No time, duration or sum of durations is larger, so that no difference of
 * two and no sum of a start and a duration leaves 64 bits: 73 years. */
#define RUN_MAX_NS ((int64_t)1 << 61)

enum {
    RUN_ROOT = 0,         /* the scope above all; its samples are iterations */
    RUN_MAX_DEPTH = 4096, /* of the tree; deeper ones are refused */
    RUN_MAX_POINTS = 1000 /* per-iteration values kept for a scope */
};

enum assay_status run_new(struct run **out, struct error *err);
void run_free(struct run *run); /* accepts NULL */

/* ---- the names -------------------------------------------------------- */

struct scope {
    uint32_t parent;                    /* RUN_NONE for the root */
    uint32_t depth;                     /* 0 for the root */
    uint32_t first_child, next_sibling; /* RUN_NONE at the end; by first seen */
    const char *name;
    const char *class_name; /* "" where it has none */
};

/* Finds the scope (parent, name, class) or adds it. class_name may be NULL.
 * Refuses a parent that is not there and trees deeper than RUN_MAX_DEPTH. */
enum assay_status run_scope_add(struct run *run, uint32_t parent,
                                const char *name, const char *class_name,
                                uint32_t *id, struct error *err);
/* Finds without adding: *id is RUN_NONE where there is none. */
enum assay_status run_scope_find(const struct run *run, uint32_t parent,
                                 const char *name, const char *class_name,
                                 uint32_t *id, struct error *err);
size_t run_scope_count(const struct run *run); /* the root included */
const struct scope *run_scope(const struct run *run, uint32_t id);

/* Renames the root, "run" until then: "FasterRCNN", "pipeline". */
enum assay_status run_name_root(struct run *run, const char *name,
                                const char *class_name, struct error *err);

/* Appends "backbone.body.conv1"; the root's own name is left out except for
 * the root itself. */
enum assay_status run_scope_path(const struct run *run, uint32_t id,
                                 struct str *path);

/* The same for what lies below a scope: "conv1" is what backbone.body.conv1 is
 * below backbone.body. Where it does not lie there, the whole path. */
enum assay_status run_scope_path_below(const struct run *run, uint32_t above,
                                       uint32_t id, struct str *path);

/* The scope that stands for the forward pass of a model: the one called
 * "model" right below the root. RUN_NONE where there is none. */
uint32_t run_model_scope(const struct run *run);

/* Phase 0 is there from the start and has no name. */
enum assay_status run_phase_add(struct run *run, const char *name, uint32_t *id,
                                struct error *err);
size_t run_phase_count(const struct run *run);
const char *run_phase_name(const struct run *run, uint32_t id);

/* What a thread stands for. */
#define RUN_THREAD_KINDS(X)                                                    \
    X(THREAD_CPU, "cpu")       /* a thread of a program */                     \
    X(THREAD_DEVICE, "device") /* a stream or queue of an accelerator */       \
    X(THREAD_ASYNC, "async")   /* spans that overlap freely */

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

/* Always adds; two threads may share a name. */
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
    int64_t queued_ns;   /* of what ran on a device: from its launch on the host
                            to its start; 0: nobody told */
};

/* Counts the sample into the statistics. Samples of one thread must come with
 * iterations that never go back (in order of their end they do). A sample of
 * RUN_ROOT is an iteration as a whole. ASSAY_BAD_INPUT where an id is not
 * there, a duration is negative or the iterations go back. */
enum assay_status run_count(struct run *run, const struct sample *sample,
                            struct error *err);

/* Keeps the sample in full. Says nothing about the statistics. */
enum assay_status run_keep(struct run *run, const struct sample *sample,
                           struct error *err);
void run_forget_kept(struct run *run); /* all of them */

/* Kept samples in order of thread, start, depth: parents before children.
 * Sorting happens in run_seal(). */
size_t run_kept_count(const struct run *run);
const struct sample *run_kept(const struct run *run, size_t i);

/* Ends the counting: the last iteration of every scope is complete now. To be
 * called once, before anything reads statistics. */
enum assay_status run_seal(struct run *run, struct error *err);

/* ---- iterations ------------------------------------------------------- */

struct iteration {
    uint32_t index;
    uint32_t thread;
    int64_t start_ns;
    int64_t duration_ns;
};

/* How many were counted, and the at most RUN_MAX_POINTS of them that are
 * remembered one by one, in order. */
uint64_t run_iteration_count(const struct run *run);
size_t run_iterations_kept(const struct run *run);
const struct iteration *run_iteration(const struct run *run, size_t i);

/* Without marked iterations every call of a scope counts as one. */
bool run_has_iterations(const struct run *run);

/* ---- statistics ------------------------------------------------------- */

/* Of one scope in one iteration: the sum over its calls. */
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

void dist_release(struct dist *dist); /* start from {0} */
enum assay_status dist_add(struct dist *dist, int64_t value);
enum assay_status dist_merge(struct dist *into, const struct dist *from);
double dist_sd(const struct dist *dist); /* 0 below two values */
double dist_percentile(const struct dist *dist, double percent);

/* What was counted for one (scope, phase, thread), inside the iterations or
 * outside of them. All views derive from these. */
struct cell {
    uint32_t scope, phase, thread;
    bool is_outside; /* of all iterations */
    int64_t total_ns, self_ns;
    int64_t bytes;          /* the most gained by one call, or RUN_UNKNOWN */
    int64_t peak_bytes;     /* the most live during one call, or RUN_UNKNOWN */
    struct dist calls;      /* each call */
    struct dist iterations; /* each iteration it was called in */
    struct point *points;   /* at most RUN_MAX_POINTS of those, in order */
    size_t n_points, points_capacity;
    uint32_t stride;   /* one in so many iterations is kept: run_is_kept() */
    struct point open; /* the one being added to; calls 0: none */
};

/* Whether an iteration is among those kept at a stride (a power of two). The
 * same ones for every cell, spread evenly but not regularly, so that a scope
 * called every second time is not missed; a larger stride keeps a subset. */
bool run_is_kept(uint32_t iteration, uint32_t stride);

size_t run_cell_count(const struct run *run);
const struct cell *run_cell(const struct run *run, size_t i);

/* Whether the cell is part of what run_scope_stats() tells of its scope: all
 * are but those of a device in a scope that a thread of the host was in too. */
bool run_cell_is_scope_time(const struct run *run, const struct cell *cell);

/* Puts a cell back that came out of a file, and takes over what it holds, also
 * on failure. */
enum assay_status run_cell_take(struct run *run, struct cell *cell,
                                struct error *err);

/* Puts an iteration back that came out of a file, without counting it. */
enum assay_status run_iteration_restore(struct run *run,
                                        const struct iteration *iteration,
                                        struct error *err);
void run_iteration_count_restore(struct run *run, uint64_t n);

/* One line of a table: a scope over all threads, in one phase or all. Times
 * are a statistic over iterations (over calls where none are marked). The
 * means divide by all iterations of the run, also those without a call, so
 * that a tree of means adds up; the percentiles are over those with one. */
struct scope_stats {
    uint64_t calls;        /* in all */
    uint64_t n;            /* iterations it was called in */
    double calls_each;     /* in such an iteration, mean */
    double total_ns;       /* sum over all calls */
    double self_ns;        /* sum over all calls, without children */
    double mean_ns, sd_ns; /* of an iteration's total */
    double mean_self_ns;
    double median_ns, median_low_ns, median_high_ns; /* 95 % interval */
    double p5_ns, p95_ns, p99_ns, min_ns, max_ns;
    int64_t bytes, peak_bytes; /* RUN_UNKNOWN where nobody measured */
    bool is_outside;           /* seen only outside the marked iterations */
};

/* Statistics of which nothing is known. */
struct scope_stats scope_stats_unknown(void);

/* The time of the host; where no thread of the host was in the scope, the
 * device's. calls is 0 for a scope that only groups others. A grouping scope
 * (never called, but with children that were) gets the sum of its children as
 * total_ns and mean_ns, and no percentiles (they are NaN). */
enum assay_status run_scope_stats(const struct run *run, uint32_t scope,
                                  uint32_t phase, struct scope_stats *out,
                                  struct error *err);

/* Whether anything ran on a device. */
bool run_has_device(const struct run *run);

/* What devices did for a scope and for all below it, on all their queues: the
 * sum of what each span took without those inside it. self_ns is of the scope
 * alone; n, the percentiles and the mean are over iterations as above. calls is
 * 0 where no device did anything. Queues that work at the same time add up. */
enum assay_status run_scope_device_stats(const struct run *run, uint32_t scope,
                                         uint32_t phase,
                                         struct scope_stats *out,
                                         struct error *err);

/* The distribution of an iteration's total, over threads; released by the
 * caller. */
enum assay_status run_scope_dist(const struct run *run, uint32_t scope,
                                 uint32_t phase, struct dist *out,
                                 struct error *err);

/* The remembered points of a scope, summed over threads and the phases asked
 * for, in order of iteration. The caller frees *points with mem_free(). */
enum assay_status run_scope_points(const struct run *run, uint32_t scope,
                                   uint32_t phase, struct point **points,
                                   size_t *n, struct error *err);

/* Order-statistics interval of the median of n sorted values, without an
 * assumption about their distribution (Conover 1999, 3.2). Both are the
 * extremes where n is too small for the confidence. */
void stats_median_interval(const double *sorted, size_t n, double confidence,
                           double *low, double *high);
double stats_quantile(const double *sorted, size_t n, double q);

/* ---- steadiness ------------------------------------------------------- */

enum steadiness {
    STEADY,
    STEADY_TOO_FEW,  /* fewer than 10 iterations */
    STEADY_DRIFTING, /* later iterations differ from earlier ones */
    STEADY_OUTLIERS, /* some iterations are far away */
    STEADY_NOISY     /* the interval of the median is wide */
};

struct verdict {
    enum steadiness steadiness;
    double drift;         /* last third against first third, 0.06: 6 % slower */
    size_t n_outliers, n; /* farther than 5 scaled MADs from the median */
    double median_width;  /* of the 95 % interval, relative to the median */
    double noise;         /* scaled MAD relative to the median */
    char text[160];       /* the verdict in words, with its cause */
};

enum assay_status run_verdict(const struct run *run, struct verdict *out,
                              struct error *err);

/* What set an iteration apart from the others, as far as the series tell. */
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

/* An iteration that took much longer than the median. */
struct outlier {
    uint32_t iteration;
    int64_t duration_ns;
    enum outlier_cause cause;
};

/* What else the machine did meanwhile; NaN where nobody looked. */
struct run_load {
    double processors; /* that there were */
    double others;     /* of them, busy with other programs, mean */
    double stolen;     /* of those, with other guests of the same host */
    double throttled;  /* held back by the limit of a container, mean */
    double wait_ns;    /* of an iteration, for a processor, median */
    double wait_share;
    bool is_disturbed; /* the times say more about all that than about us: a
                          wait of more than a twentieth, or more than a fifth
                          of a processor that was taken from us */
};

void run_load(const struct run *run, struct run_load *out);
bool run_is_disturbed(const struct run *run);

/* The slow outliers of the verdict, in order; for mem_free(). None below 10
 * iterations. */
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
    struct counter_point *points; /* thinned evenly where there were many */
    size_t n_points, points_capacity;
    uint32_t stride;
};

enum assay_status run_counter_add(struct run *run, const char *name,
                                  const char *unit, uint32_t *id,
                                  struct error *err);
enum assay_status run_counter_count(struct run *run, uint32_t id,
                                    int64_t time_ns, double value,
                                    struct error *err);
/* Puts back what came out of a file; takes the points over. */
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
/* NaN where it is not there or no number. */
double run_fact_number(const struct run *run, const char *key);
size_t run_fact_count(const struct run *run);
void run_fact_at(const struct run *run, size_t i, const char **key,
                 const char **value);

/* ---- series: what was observed of each iteration ---------------------- */

/* A value an iteration, beside its duration: what was in the photograph
 * ("content.detections"), how the machine behaved ("steady.page_faults").
 * Where the values are names (of photographs), they are indexes into labels.
 *
 * What a training tells of its steps ("train.loss") has their numbers instead:
 * `iteration` is how many steps came before, warm-up included, so that no loss
 * is missing and a training that was resumed goes on where it was. */
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
    uint32_t stride; /* one in so many iterations is kept: run_is_kept() */
};

/* Finds the series of that name or adds it. */
enum assay_status run_series_add(struct run *run, const char *name,
                                 const char *unit, uint32_t *id,
                                 struct error *err);
/* Adds a label; the first one is 0. */
enum assay_status run_series_label(struct run *run, uint32_t id,
                                   const char *label, struct error *err);
/* Iterations must grow; a value is finite, and an index where the series has
 * labels. */
enum assay_status run_series_put(struct run *run, uint32_t id,
                                 uint32_t iteration, double value,
                                 struct error *err);
/* Says, before the first value, that only one in so many is to come: the file
 * that it comes out of was thinned. */
enum assay_status run_series_restore(struct run *run, uint32_t id,
                                     uint32_t stride, struct error *err);
/* Whether it is numbered by the steps of a training. */
bool series_is_by_step(const struct series *series);
/* The number of the step that an iteration of a training is, from 1; 0 where
 * it is no training. */
uint64_t run_step_of(const struct run *run, uint32_t iteration);
/* Numbers the series of a training by its steps, which runs of before have by
 * iteration, with a series "train.step" beside them. */
void run_series_number_steps(struct run *run);
/* A series of another run, from iteration `first` to `last`. */
enum assay_status run_series_copy(struct run *to, const struct series *from,
                                  uint64_t first, uint64_t last,
                                  struct error *err);
size_t run_series_count(const struct run *run);
const struct series *run_series(const struct run *run, uint32_t id);
/* By name; NULL where there is none. */
const struct series *run_series_find(const struct run *run, const char *name);
/* Its value in an iteration; false where that is not remembered. */
bool series_value(const struct series *series, uint32_t iteration,
                  double *value);
/* The label of a point, or NULL where its series has none. */
const char *series_label(const struct series *series,
                         const struct series_point *point);

/* ---- arithmetic ------------------------------------------------------- */

/* What a scope itself has to do in one iteration, without the scopes below it;
 * NaN where it is not known. macs counts the multiply-adds of convolutions and
 * products as the direct algorithm has them, flops the arithmetic beside;
 * done_flops and done_bytes are what the kernel that ran really executed and
 * moved (Winograd: its own products and transforms). kept_bytes is what stays
 * of it from a forward pass until the backward pass needs it. */
struct scope_work {
    double macs, flops;
    double read_bytes, write_bytes;
    double parameters;
    double done_flops, done_bytes;
    double kept_bytes;
    uint32_t done_by; /* the scope that it was fused into, or RUN_NONE */
};

/* Work of which nothing is known: where to start from. */
struct scope_work scope_work_unknown(void);

/* Setting it again replaces it. Refuses scopes that are not there, values that
 * are negative or infinite, and a done_by that is itself done by another: it
 * names the one that really does the work, so that nothing goes in circles. */
enum assay_status run_work_set(struct run *run, uint32_t scope,
                               const struct scope_work *work,
                               struct error *err);
/* NULL where none was set; borrowed until the next is set. */
const struct scope_work *run_work(const struct run *run, uint32_t scope);
bool run_has_work(const struct run *run);

/* What was said of a scope's work in words, the last time: "1x64x56x56 ->
 * 1x64x56x56"; which kernel did it. "" where nothing was. */
struct scope_text {
    const char *shapes, *kernel;
};

/* Copies the texts. */
enum assay_status run_text_set(struct run *run, uint32_t scope,
                               const struct scope_text *text,
                               struct error *err);
/* NULL where none was set; borrowed until the next is set. */
const struct scope_text *run_text(const struct run *run, uint32_t scope);
bool run_has_text(const struct run *run);

/* ---- health and memory ------------------------------------------------ */

/* What went wrong while observing; all zero in a good run. */
struct run_health {
    uint64_t lost_spans;      /* could not be kept */
    uint64_t unbalanced_ends; /* an end without a begin */
    uint64_t open_at_end;     /* a begin without an end */
    uint64_t too_deep;        /* nested deeper than the recorder follows */
    uint64_t warm_up;         /* iterations left out of the statistics */
    bool is_incomplete;       /* the program did not reach its end */
};

struct run_health *run_health(struct run *run);
const struct run_health *run_health_of(const struct run *run);

/* The most bytes that were live at once, and the scope that was open then. */
struct run_memory {
    int64_t peak_bytes; /* RUN_UNKNOWN until measured */
    uint32_t peak_scope;
    int64_t peak_ns;
};

struct run_memory *run_memory(struct run *run);
const struct run_memory *run_memory_of(const struct run *run);

/* How much memory a space ("host", "cuda:0") held, in all and by category. */
struct space_row {
    const char *space;
    const char *category;  /* "weights"; "": the space as a whole */
    int64_t live_bytes;    /* at the end; negative: more was given back */
    int64_t peak_bytes;    /* the most at once */
    int64_t at_peak_bytes; /* when the space as a whole held the most */
};

/* Bytes taken, or with a negative delta given back, in the order of time. */
enum assay_status run_space_change(struct run *run, const char *space,
                                   const char *category, int64_t delta,
                                   struct error *err);
/* Puts a row back that came out of a file. */
enum assay_status run_space_restore(struct run *run,
                                    const struct space_row *row,
                                    struct error *err);
size_t run_space_count(const struct run *run);
/* A space as a whole stands before its categories. */
const struct space_row *run_space(const struct run *run, size_t i);
/* NULL where there is none. */
const struct space_row *run_space_find(const struct run *run, const char *space,
                                       const char *category);

/* The counter that holds the live bytes over one iteration. */
#define RUN_LIVE_BYTES "memory.live"

/* Who owned the bytes at the peak. The first group adds up to
 * run_memory.peak_bytes; with the second, to the process's own high-water
 * mark, the fact "memory.process_peak_bytes", or to more by what was taken and
 * never touched, the fact "memory.untouched_bytes". */
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
    uint32_t scope;   /* RUN_NONE: of no scope */
    int64_t bytes;    /* never negative */
    const char *what; /* "mapped weights", "" where the kind says it */
};

/* Copies the row. */
enum assay_status run_ledger_add(struct run *run, const struct ledger_row *row,
                                 struct error *err);
size_t run_ledger_count(const struct run *run);
/* Of all rows of a kind. */
int64_t run_ledger_sum(const struct run *run, enum ledger_kind kind);
const struct ledger_row *run_ledger(const struct run *run, size_t i);

/* From the first begin to the last end. */
int64_t run_duration_ns(const struct run *run);
void run_duration_set(struct run *run, int64_t duration_ns);

/* ---- whole runs ------------------------------------------------------- */

/* What to keep of a run. The range of iterations is [first, last]; statistics
 * of a range come from the remembered points. */
struct run_filter {
    const char *phase;  /* NULL: every one */
    const char *thread; /* NULL: every one; all that have this name */
    uint64_t first_iteration, last_iteration; /* 0 and UINT64_MAX: all */
};

/* A new, sealed run with what the filter lets through. ASSAY_NOT_FOUND names a
 * phase or thread that is not there, and those that are. */
enum assay_status run_subset(const struct run *run,
                             const struct run_filter *filter, struct run **out,
                             struct error *err);

/* Whether a filter left out something of the iterations it kept: times are of
 * a part of them then, work and counters of all. */
bool run_is_part(const struct run *run);

/* Adds another run's iterations behind this one's: same scopes meet, new ones
 * are added. Facts of `into` win, work is the mean over all iterations; the
 * ledger and the live bytes are those of the one with the higher peak. */
enum assay_status run_merge(struct run *into, const struct run *from,
                            struct error *err);

#endif
