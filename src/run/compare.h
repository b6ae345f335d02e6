/* run/compare.h - two sides, each one or several runs: what differs by more
 * than noise.
 *
 * The trees are aligned; for every scope that both sides have, the times of
 * the iterations within the runs within the sides decide whether the
 * difference is real, corrected for the number of scopes looked at.
 * docs/compare.md explains the test.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_COMPARE_H
#define RUN_COMPARE_H

#include "run/run.h"

enum match {
    MATCH_BOTH,
    MATCH_ADDED,   /* only in B */
    MATCH_REMOVED, /* only in A */
    MATCH_RENAMED  /* at the same place, under another name */
};

struct compare_row {
    enum match match;
    uint32_t a, b;   /* scope in the first run of the side, or RUN_NONE */
    uint32_t parent; /* row of the parent, or RUN_NONE */
    uint32_t depth;
    double a_ns, b_ns; /* time an iteration; NaN where it is not there */
    double a_self_ns, b_self_ns;
    double ratio;     /* b / a as estimated by the test; NaN: not tested */
    double low, high; /* its interval, simultaneous over all rows */
    double p;         /* adjusted for the number of rows; NaN: not tested */
    double p_raw;
    bool is_significant; /* p <= 1 - confidence */
    bool is_cause;       /* significant, and no row below it explains it */
    double share;        /* of A's (or B's) iteration time, 0 to 1 */
};

/* One side: its runs, sealed, borrowed for the life of the comparison. */
struct compare_side {
    const struct run *const *runs;
    size_t n_runs;
};

struct compare_options {
    double confidence; /* 0: 0.95, over the whole comparison */
};

struct comparison;

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
const struct compare_side *compare_side_a(const struct comparison *comparison);
const struct compare_side *compare_side_b(const struct comparison *comparison);
/* Name and class as B calls it (A where it was removed). */
const struct scope *compare_row_scope(const struct comparison *comparison,
                                      size_t i);
enum assay_status compare_row_path(const struct comparison *comparison,
                                   size_t i, struct str *path);

/* ---- the gate --------------------------------------------------------- */

struct budget {
    char *scope;  /* path, or a pattern with * and ?; NULL: every scope */
    double above; /* 0.05: 5 % slower is the most */
};

struct budgets {
    struct budget *items; /* the last that fits a scope holds for it */
    size_t n, capacity;
};

void budgets_release(struct budgets *budgets); /* start from {0} */
enum assay_status budgets_add(struct budgets *budgets, const char *scope,
                              double above, struct error *err);
/* From a TOML file: docs/compare.md. */
enum assay_status budgets_read(struct budgets *budgets, const char *path,
                               struct error *err);

enum gate {
    GATE_PASSED,
    GATE_FAILED, /* slower than its budget, and significantly */
    GATE_NOISY   /* cannot be told: the interval reaches over the budget */
};

struct gate_result {
    enum gate gate;
    uint32_t row; /* the worst one, RUN_NONE when passed */
    double above; /* its budget */
    size_t n_failed, n_noisy;
    uint64_t more_iterations; /* a guess how many would decide, 0: unknown */
};

enum assay_status compare_gate(const struct comparison *comparison,
                               const struct budgets *budgets,
                               struct gate_result *out, struct error *err);

#endif
