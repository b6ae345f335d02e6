/* run/compare_internal.h - the steps of a comparison; for the files of this
 * room.
 *
 * align.c makes the rows, location.c reduces the iterations of one run to one
 * value, significance.c tests all rows at once, cause.c tells which of the
 * significant ones explain the others, compare.c holds it together.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_COMPARE_INTERNAL_H
#define RUN_COMPARE_INTERNAL_H

#include "run/compare.h"

/* Fewer iterations than this say nothing about their spread. */
enum { COMPARE_MIN_POINTS = 5 };

/* The middle of what a scope took in the iterations of one run. */
struct location {
    size_t n;        /* iterations; 0: nothing that could be tested */
    double center;   /* of the logs of the nanoseconds */
    double variance; /* of the center, were the iterations independent */
    double df;       /* degrees of freedom of that variance */
    double lag1;     /* autocorrelation of neighbouring iterations */
    double tick;     /* variance that the clock's resolution may hide */
};

/* What the test of a row found, beside what its row tells. */
struct row_test {
    bool is_tested;
    double se; /* of the log of the ratio */
    double df;
    double side_df; /* of the runs within the sides; infinite: one a side */
    double n;       /* iterations of a run, the fewest */
};

struct comparison {
    struct compare_side a, b;
    double confidence;
    struct compare_row *rows;
    size_t n_rows, rows_capacity;
    struct row_test *tests;     /* one a row */
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

/* Sorts the durations of a scope, as the two functions below want them. */
void location_sort(int64_t *values, size_t n);

/* The smallest difference that the clock behind these values can show. */
double location_tick_ns(const int64_t *sorted, size_t n);

/* n is at least COMPARE_MIN_POINTS; in_order holds the values by time. */
struct location location_of(const int64_t *sorted, const int64_t *in_order,
                            size_t n, double tick_ns);

/* From the locations to ratio, interval and p of every row, and tests. */
enum assay_status significance_test(struct comparison *comparison,
                                    struct error *err);

/* Sets is_cause of the significant rows. */
enum assay_status cause_find(struct comparison *comparison, struct error *err);

#endif
