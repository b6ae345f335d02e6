/* record/live.h - the live bytes of the last iteration, every change of them.
 *
 * The counter of memory over a whole run is thinned; this keeps one iteration
 * in full, the one whose spans are kept in full too.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RECORD_LIVE_H
#define RECORD_LIVE_H

#include "run/run.h"

struct live {
    struct counter_point *points; /* in order of time */
    size_t n, capacity;
    bool has_iteration;
    int64_t start_ns, end_ns; /* of the last one that ended */
};

void live_release(struct live *live); /* start from {0} */

/* The count changed. Times grow. */
enum assay_status live_add(struct live *live, int64_t time_ns, double bytes);
/* A measured iteration ended; changes in it may still come. */
void live_iteration(struct live *live, int64_t start_ns, int64_t end_ns);

/* Puts the changes in the last iteration into the run as RUN_LIVE_BYTES; none
 * where there was no iteration, or nothing was told of bytes. */
enum assay_status live_finish(const struct live *live, struct run *run,
                              struct error *err);

#endif
