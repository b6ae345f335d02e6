/* run/compare_internal.h - the steps of a comparison, for the files of this
 * room.
 *
 * align.c makes the rows, location.c reduces the iterations of one run to one
 * value, significance.c tests all rows at once, cause.c finds which of the
 * significant ones explain the others, compare.c holds it together.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_COMPARE_INTERNAL_H
#define RUN_COMPARE_INTERNAL_H

#include "run/compare.h"

/* Fewer iterations than this say nothing about their spread. */
enum { COMPARE_MIN_POINTS = 5 };

/* Two ways to reduce the iterations of a run to one value. A difference must
 * show in both: the mean is what people see, and it adds up; the trimmed mean
 * is not moved by a few interrupted calls. */
enum centre_kind { CENTRE_MEAN, CENTRE_TRIMMED, N_CENTRES };

struct centre {
    double log;      /* of the nanoseconds */
    double variance; /* of that, if iterations were independent */
    double df;       /* degrees of freedom of that variance */
    double lag1;     /* autocorrelation of neighbouring iterations */
};

/* A scope's times over the iterations of one run. */
struct location {
    size_t n; /* iterations; 0: nothing that could be tested */
    struct centre centres[N_CENTRES];
    double tick;             /* variance that the clock's resolution may hide */
    double sample_ns;        /* mean of the kept iterations */
    double mean_ns, self_ns; /* per iteration; NaN: the run does not have it */
};

/* The iterations of a run that count, in order. */
struct chosen {
    uint32_t *iterations;
    size_t n;
};

void chosen_release(struct chosen *chosen); /* accepts {0} */
/* Those of run_counted() that are kept. */
enum assay_status chosen_find(const struct run *run, struct chosen *chosen,
                              struct error *err);

/* The times of a scope in those iterations. */
struct durations {
    int64_t *in_order, *sorted;
    bool is_outside;    /* it was called outside of them only */
    size_t n, n_called; /* iterations, and those in which it was called */
};

/* Of the host, or of devices: then in the iterations that they were timed
 * in. */
enum assay_status durations_read(struct durations *durations,
                                 const struct run *run, uint32_t scope,
                                 bool is_device, const struct chosen *chosen,
                                 struct error *err);
void durations_release(struct durations *durations);

/* What the test of a row found, besides what is in its row. */
struct row_test {
    bool is_tested;
    double se; /* of the log of the ratio */
    double df;
    double side_df; /* of the runs within the sides; infinite: one per side */
    double n;       /* fewest iterations of a run */
};

struct comparison {
    struct compare_side a, b;
    double confidence, floor;
    bool are_pairs, are_starts;
    size_t n_looks, n_left_out; /* pairs */
    struct compare_row *rows;
    size_t n_rows, rows_capacity;
    struct row_test *tests;     /* one per row */
    struct location *locations; /* A's runs then B's, row by row */
    size_t n_tested;
};

static inline size_t compare_run_count(const struct comparison *comparison)
{
    return comparison->a.n_runs + comparison->b.n_runs;
}

/* Appends the rows of two trees, parents before children; fills match, a, b,
 * parent and depth. */
enum assay_status align_trees(struct comparison *comparison, struct error *err);

/* Sorts the durations of a scope for the two functions below. */
void location_sort(int64_t *values, size_t n);

/* The smallest difference that the clock of these values can show. */
double location_tick_ns(const int64_t *sorted, size_t n);

/* n is at least COMPARE_MIN_POINTS. */
struct location location_of(const struct durations *durations, double tick_ns);

/* Leaves out the pairs of runs of which one was disturbed. */
enum assay_status pairs_choose(struct comparison *comparison,
                               struct error *err);

/* Computes every row's ratio, interval and p, and tests, from the locations. */
enum assay_status significance_test(struct comparison *comparison,
                                    struct error *err);

/* Sets is_counted and is_cause of the significant rows. */
enum assay_status cause_find(struct comparison *comparison, struct error *err);

#endif
