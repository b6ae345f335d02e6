/* run/compare.h - compares two sides, each one or several runs, and finds what
 * differs by more than noise.
 *
 * The trees are aligned. For every scope that both sides have, the times of the
 * iterations, within runs, within sides, decide whether the difference is real,
 * corrected for the number of scopes tested. docs/compare.md explains the test.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_COMPARE_H
#define RUN_COMPARE_H

#include "run/run.h"

enum match {
    MATCH_BOTH,
    MATCH_ADDED,   /* only in B */
    MATCH_REMOVED, /* only in A */
    MATCH_RENAMED  /* in the same place, under another name */
};

struct compare_row {
    enum match match;
    uint32_t a, b;   /* scope in the first run of the side, or RUN_NONE */
    uint32_t parent; /* row of the parent, or RUN_NONE */
    uint32_t depth;
    double a_ns, b_ns; /* time per iteration; NaN if it does not exist */
    double a_self_ns, b_self_ns;
    double ratio;     /* b / a as estimated by the test; NaN: not tested */
    double low, high; /* its interval, simultaneous over all rows */
    double p;         /* adjusted for the number of rows; NaN: not tested */
    double p_raw;
    bool a_is_device, b_is_device; /* the times are a device's: longer than
                                      the host's for the same scope */
    bool is_outside;     /* of the iterations: once per run, not in the sums */
    bool is_significant; /* p <= 1 - confidence */
    bool is_counted;     /* significant, and not surely below the floor */
    bool is_cause;       /* counted, and no row below explains it */
    size_t n_least;      /* fewest iterations of a run; 0: not tested */
    double share;        /* of A's (or B's) iteration time, 0 to 1 */
};

/* One side: its sealed runs, borrowed for the life of the comparison. */
struct compare_side {
    const struct run *const *runs;
    size_t n_runs;
};

/* A change below this share of the whole does not count by default. */
#define COMPARE_FLOOR 0.005

struct compare_options {
    double confidence; /* over the whole comparison; 0: 0.95 */
    double floor;      /* share of the whole from which a change counts */
    bool are_pairs;    /* the i-th runs of both sides were measured together */
    bool are_starts;   /* every iteration is a start of the program */
    size_t n_looks;    /* how often the same runs, and more of them each time,
                          are compared until it is decided; 0: once */
};

struct comparison;

/* options NULL: 0.95, COMPARE_FLOOR, no pairs, one look. */
enum assay_status compare_new(const struct compare_side *a,
                              const struct compare_side *b,
                              const struct compare_options *options,
                              struct comparison **out, struct error *err);
void compare_free(struct comparison *comparison); /* accepts NULL */

/* Rows in tree order: parents before children; row 0 is the whole. */
size_t compare_row_count(const struct comparison *comparison);
const struct compare_row *compare_row(const struct comparison *comparison,
                                      size_t i);
size_t compare_n_tested(const struct comparison *comparison);
double compare_confidence(const struct comparison *comparison);
double compare_floor(const struct comparison *comparison);
bool compare_has_pairs(const struct comparison *comparison);
bool compare_has_starts(const struct comparison *comparison);
/* Pairs of which one run was disturbed: see docs/compare.md. */
size_t compare_pairs_left_out(const struct comparison *comparison);
/* Whether differences between starts of the same program are covered: there
 * are several runs on a side, or every iteration is a start. */
bool compare_covers_starts(const struct comparison *comparison);
/* A change of this row to `ratio`, as a share of A's whole. */
double compare_share_of_whole(const struct comparison *comparison, size_t i,
                              double ratio);
const struct compare_side *compare_side_a(const struct comparison *comparison);
const struct compare_side *compare_side_b(const struct comparison *comparison);
/* Name and class in B, or in A if it was removed. */
const struct scope *compare_row_scope(const struct comparison *comparison,
                                      size_t i);
enum assay_status compare_row_path(const struct comparison *comparison,
                                   size_t i, struct str *path);

/* ---- the gate --------------------------------------------------------- */

struct budget {
    char *scope;  /* path, or a pattern with * and ?; NULL: every scope */
    double above; /* 0.05: at most 5 % slower */
};

struct budgets {
    struct budget *items; /* the last one that matches a scope applies */
    size_t n, capacity;
};

void budgets_release(struct budgets *budgets); /* initialise to {0} */
enum assay_status budgets_add(struct budgets *budgets, const char *scope,
                              double above, struct error *err);
/* From a TOML file: docs/compare.md. */
enum assay_status budgets_read(struct budgets *budgets, const char *path,
                               struct error *err);

enum gate {
    GATE_PASSED,
    GATE_FAILED, /* significantly slower, by more than its budget */
    GATE_NOISY   /* undecided: the interval includes the budget */
};

/* The verdict on one row. */
struct gate_row {
    bool is_judged; /* a budget applies to it */
    enum gate gate;
    double above; /* its budget */
};

/* The whole is judged first; the other rows decide if it is not over its
 * budget. */
struct gate_result {
    enum gate gate;
    uint32_t row; /* that decided: 0 for the whole, otherwise the worst row;
                     RUN_NONE if passed */
    double above; /* its budget */
    size_t n_failed, n_noisy;
    uint64_t more_iterations; /* that would decide, estimated; 0: unknown */
    struct gate_row *rows;    /* one per row of the comparison */
};

/* The caller releases *out, even on failure. */
enum assay_status compare_gate(const struct comparison *comparison,
                               const struct budgets *budgets,
                               struct gate_result *out, struct error *err);
void gate_result_release(struct gate_result *result); /* accepts {0} */

#endif
