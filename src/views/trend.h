/* views/trend.h - the runs of a folder one after the other: the figures of
 * each, and what the gate of `assay compare --fail-above` says of it against an
 * earlier one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_TREND_H
#define VIEWS_TREND_H

#include "run/compare.h"
#include "run/run.h"

enum { TREND_TEXT = 96, TREND_WORDS = 512 };

/* The gate's word on a run. Start from {.ratio = NAN}. */
struct trend_verdict {
    bool is_judged; /* there was another run to compare it with */
    enum gate gate;
    bool is_beyond_noise; /* the whole differs */
    double ratio;         /* of the whole, estimated; NaN: not tested */
    char text[TREND_WORDS];
};

struct trend_point {
    const char *name; /* of the run's file */
    const char *base; /* of the one it was judged against; NULL: none */
    char model[TREND_TEXT], started[TREND_TEXT], commit[TREND_TEXT];
    uint64_t n_iterations;
    double mean_ns, p95_ns, peak_bytes; /* NaN: unknown */
    struct trend_verdict verdict;
};

/* Runs by model, and those of a model by the time they began. */
struct trend {
    const struct trend_point *points;
    size_t n;
    double above;     /* the budget of the gate; NaN: those of a file */
    const char *base; /* that all of a model are judged against; NULL: each
                       * against the one before */
    bool is_served;   /* a run's page is at /run?name=NAME */
};

/* The figures of a run; its names and its verdict stay. */
void trend_describe(const struct run *run, struct trend_point *point);

/* Runs that cannot be compared are not judged: only lack of memory fails. */
enum assay_status trend_judge(const struct run *base, const struct run *run,
                              const struct budgets *budgets,
                              struct trend_verdict *verdict, struct error *err);

/* "passed", "failed", "undecided"; "" if it is not judged. */
const char *trend_word(const struct trend_verdict *verdict);

#endif
