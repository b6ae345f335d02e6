/* observe/pacing.h - how many iterations to measure.
 *
 * Either as many as were asked for, or until the median is known well enough,
 * within a time. Every photograph is measured at least once, and in whole
 * rounds if time allows: a set should not be judged by its first half.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_PACING_H
#define OBSERVE_PACING_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum pacing_end {
    PACING_COUNTED,    /* as many as were asked for */
    PACING_PRECISE,    /* the goal was met */
    PACING_OUT_OF_TIME /* it was not */
};

struct pacing {
    uint64_t least;   /* least iterations */
    uint64_t round;   /* iterations until every photograph was measured */
    double goal;      /* half the interval of the median, relative to it; 0:
                         exactly `least` iterations */
    int64_t limit_ns; /* of measuring, once there are `least` */

    double *sorted; /* durations, if there is a goal */
    size_t n, capacity;
    uint64_t n_done;
    int64_t spent_ns;
    enum pacing_end end;
};

void pacing_release(struct pacing *pacing); /* start from {0} */

/* Whether to measure another iteration; after no, `end` says why. */
bool pacing_goes_on(struct pacing *pacing);
/* Adds an iteration. spent_ns: including all overhead. */
enum assay_status pacing_add(struct pacing *pacing, int64_t duration_ns,
                             int64_t spent_ns, struct error *err);
/* Half the 95 % interval of the median, relative to it; NaN if there are too
 * few iterations for one. */
double pacing_precision(const struct pacing *pacing);

#endif
