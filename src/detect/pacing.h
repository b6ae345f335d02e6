/* detect/pacing.h - how many iterations are measured.
 *
 * Either as many as were asked for, or until the median is known well enough,
 * within a time. Every photograph is measured once in any case, and in whole
 * rounds where the time allows it: a set is not judged by its first half.
 *
 * SPDX-License-Identifier: MIT */
#ifndef DETECT_PACING_H
#define DETECT_PACING_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum pacing_end {
    PACING_COUNTED,    /* as many as were asked for */
    PACING_PRECISE,    /* the goal was met */
    PACING_OUT_OF_TIME /* it was not */
};

struct pacing {
    uint64_t least;   /* iterations in any case */
    uint64_t round;   /* iterations until every photograph was seen */
    double goal;      /* half the interval of the median, relative to it; 0:
                         exactly `least` iterations */
    int64_t limit_ns; /* of measuring, once there are `least` */

    double *sorted; /* durations, where there is a goal */
    size_t n, capacity;
    uint64_t n_done;
    int64_t spent_ns;
    enum pacing_end end;
};

void pacing_release(struct pacing *pacing); /* start from {0} */

/* Whether another iteration is to be measured; once it says no, `end` says
 * why. */
bool pacing_goes_on(struct pacing *pacing);
/* An iteration was measured. spent_ns: with all that came with it. */
enum assay_status pacing_add(struct pacing *pacing, int64_t duration_ns,
                             int64_t spent_ns, struct error *err);
/* Half the 95 % interval of the median, relative to it; NaN where there are
 * too few iterations for one. */
double pacing_precision(const struct pacing *pacing);

#endif
