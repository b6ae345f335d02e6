/* views/scope_rows.h - a run as rows: a scope a row, in the order of the tree.
 *
 * Sums come from one pass over the cells, so that a screen of a large run
 * costs little; percentiles are asked for by the views that show them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_SCOPE_ROWS_H
#define VIEWS_SCOPE_ROWS_H

#include "base/str.h"
#include "run/bound.h"

/* The passes of a training over its modules. */
enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_OPTIMIZER, N_PASSES };

struct row {
    uint32_t scope;
    size_t parent; /* a row; the root's is itself */
    uint32_t depth;
    const char *name, *class_name;
    bool is_called;  /* else it only groups those below it */
    bool is_leaf;    /* called, and nothing below it was */
    bool is_outside; /* it and all below it were seen outside the iterations */
    /* Over the whole run, the iterations alone where there are some; NaN where
     * nothing is known: a row that only groups has neither calls nor self. */
    double calls, total_ns, self_ns;
    double share;       /* of rows.whole_ns; NaN outside the iterations */
    int64_t bytes;      /* the most gained by one call, or RUN_UNKNOWN */
    int64_t peak_bytes; /* the most live during one call, or RUN_UNKNOWN */
    /* Of one iteration, with all that is below it. done_by only where the
     * scope was never called, because it was fused into that one. */
    struct scope_work work;
    double self_macs;   /* without what is below it */
    struct bound bound; /* against the machine's peaks */
    /* Where rows.has_passes: what each takes of total_ns, or NaN. */
    double pass_ns[N_PASSES];
};

struct rows {
    struct row *items; /* parents before children; 0 is the root */
    size_t n;
    uint64_t n_iterations; /* 0: none were marked */
    double whole_ns;       /* what shares are of */
    bool adds_up;          /* threads ran at the same time: sums exceed it */
    bool is_part; /* of a run: times are of some threads or phases only */
    bool has_classes;
    bool has_macs;
    bool has_passes; /* of a training, a row for all passes: training_internal.h
                      */
    bool has_bounds; /* what bounds it is known for at least one row */
    struct peaks peaks;
    double
        macs_cover; /* share of the leaves' time in those with MACs, or NaN */
};

/* Start from {0}; released by the caller, also on failure. */
enum assay_status rows_build(const struct run *run, struct rows *rows,
                             struct error *err);
void rows_release(struct rows *rows);

/* Of one iteration where they are marked and the row is inside them, else of
 * the whole run. */
double rows_each(const struct rows *rows, const struct row *row, double value);

/* 2 FLOP a MAC over the time of an iteration; NaN where there are no MACs, or
 * only a part of the time is there. */
double row_gflops(const struct rows *rows, const struct row *row);

/* Whether the row has no times because another scope does its work. */
bool row_is_fused(const struct row *row);
/* Appends "   in conv1": the name of a sibling, the path of any other. */
enum assay_status row_doer(const struct run *run, const struct row *row,
                           struct str *text);

/* The sum of what is known of both. */
double add_known(double a, double b);
void work_add(struct scope_work *into, const struct scope_work *from);

/* Sets rows against the machine's peaks. */
enum assay_status rows_add_bounds(const struct run *run, struct rows *rows,
                                  struct error *err);

/* Fills is_leaf, the work and what MACs cover, once the times are there. */
void rows_add_work(const struct run *run, struct rows *rows);

/* The unit that times of this run are shown in: milliseconds, microseconds for
 * runs that last less than one of those. */
struct time_unit {
    const char *name; /* "ms" */
    double ns;
};

struct time_unit rows_unit(const struct rows *rows);

#endif
