/* metrics/child.h - foreign code in a process of its own.
 *
 * A child runs the functions of a plug-in on what its parent holds at the time
 * of the fork; samples go to it, values come back. Whatever it does, the
 * parent stays whole.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_CHILD_H
#define METRICS_CHILD_H

#include "base/error.h"

#include <assay/metric.h>
#include <sys/types.h>

/* Start from {0} with pid 0: there is none. */
struct child {
    pid_t pid;
    int to, from;   /* pipes; to is -1 where it does not listen any more */
    double seconds; /* that it may keep its parent waiting */
};

/* Starts a child that begins the function, waits for samples and computes. */
enum assay_status child_start(struct child *child,
                              const struct assay_metric_function *function,
                              const struct assay_metric_input *input,
                              double seconds, struct error *err);

/* Hands it a sample. Not where it is gone: child_finish() tells. */
void child_sample(struct child *child, const struct assay_sample *sample);

/* No more samples: waits for the values and ends the child.
 * evaluated: what the samples came to, or NULL. Its failure, its death or its
 * silence is the answer. */
enum assay_status child_finish(struct child *child,
                               const struct assay_metric_function *function,
                               const struct assay_evaluated *evaluated,
                               double *values, struct error *err);

/* Ends one that is not wanted any more. Accepts {0}. */
void child_stop(struct child *child);

#endif
