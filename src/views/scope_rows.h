/* views/scope_rows.h - a run as rows, one per scope, in the order of the tree.
 *
 * Sums come from one pass over the cells, so that a screen of a large run costs
 * little; views that show percentiles compute them separately.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_SCOPE_ROWS_H
#define VIEWS_SCOPE_ROWS_H

#include "base/str.h"
#include "base/units.h"
#include "run/bound.h"

/* The passes of a training over its modules. */
enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_OPTIMIZER, N_PASSES };

struct row {
    uint32_t scope;
    size_t parent; /* a row; the root is its own parent */
    uint32_t depth;
    const char *name, *class_name;
    bool is_called;  /* false: it only groups those below it */
    bool is_leaf;    /* called, and nothing below it was */
    bool is_outside; /* it and all below it ran outside the iterations */
    /* For the iterations that count, or the whole run if none are marked; NaN
     * if nothing is known: a row that only groups has neither calls nor self.
     */
    double calls, total_ns, self_ns;
    /* What devices did for it and everything below it; queues that work at the
     * same time add up. */
    double device_ns;
    double device_calls; /* spans of devices in the scope itself */
    /* Of rows.whole_ns, by total_ns or, where that is longer, device_ns; NaN
     * outside the iterations. */
    double share;
    int64_t bytes;      /* the most gained by one call, or RUN_UNKNOWN */
    int64_t peak_bytes; /* the most live during one call, or RUN_UNKNOWN */
    /* Per iteration, including all below it. done_by only if the scope was
     * never called because it was fused into that one. */
    struct scope_work work;
    double self_macs;   /* without what is below it */
    struct bound bound; /* against the machine's peaks */
    /* If rows.has_passes: the part of total_ns that each takes, or NaN. */
    double pass_ns[N_PASSES];
    double pass_device_ns[N_PASSES]; /* the same of device_ns */
};

struct rows {
    struct row *items; /* parents before children; 0 is the root */
    size_t n;
    uint64_t n_iterations; /* that count; 0: none are marked */
    size_t n_disturbed;    /* left out */
    double whole_ns;       /* what shares refer to */
    bool adds_up;          /* threads ran in parallel: sums exceed the whole */
    bool is_part;          /* of a run: only some threads or phases */
    bool has_classes;
    bool has_macs;
    bool has_device; /* devices worked for rows of the host */
    bool has_passes; /* one row for all passes: training_internal.h */
    bool has_bounds; /* the bound of at least one row is known */
    struct peaks peaks;
    double macs_cover; /* share of the leaves' time in those with MACs, or NaN
                        */
};

/* Start from {0}; release also after a failure. */
enum assay_status rows_build(const struct run *run, struct rows *rows,
                             struct error *err);
void rows_release(struct rows *rows);

/* The value per iteration if they are marked and the row is inside them, else
 * that for the whole run. */
double rows_each(const struct rows *rows, const struct row *row, double value);

/* The time of devices for the row, like rows_each(); NaN if they did nothing
 * for it, or if no work of devices is known to belong to rows of the host. */
double row_device_ns(const struct rows *rows, const struct row *row);
/* The same for one pass of a training. */
double row_pass_device_ns(const struct rows *rows, const struct row *row,
                          enum pass pass);

/* The longer of the host's and the devices' time, of all iterations: launching
 * a module may take next to nothing of an iteration that waits for it. */
double row_longer_ns(const struct rows *rows, const struct row *row);

/* 2 FLOP per MAC over the time of an iteration, of devices where they did the
 * work; NaN if there are no MACs, or only a part of the time is known. */
double row_gflops(const struct rows *rows, const struct row *row);

/* Whether the row has no times because another scope does its work. */
bool row_is_fused(const struct row *row);
/* Appends "   in conv1": the name of a sibling, or the path of another scope.
 */
enum assay_status row_doer(const struct run *run, const struct row *row,
                           struct str *text);

/* The sum of those that are known. */
double add_known(double a, double b);
void work_add(struct scope_work *into, const struct scope_work *from);

/* Compares the rows with the machine's peaks. */
enum assay_status rows_add_bounds(const struct run *run, struct rows *rows,
                                  struct error *err);

/* Fills in is_leaf, the work and macs_cover, once the times are known. */
void rows_add_work(const struct run *run, struct rows *rows);

/* The unit for the times of this run: milliseconds, or microseconds if an
 * iteration lasts less than one. */
struct time_unit {
    const char *name; /* "ms" */
    double ns;
};

struct time_unit rows_unit(const struct rows *rows);
/* The unit for the rates of this run, which suits the machine's peak. */
struct rate_unit rows_rate(const struct rows *rows);

#endif
