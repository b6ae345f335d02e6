/* metrics/metric_child.h - foreign code in a process of its own.
 *
 * A child runs the functions of a plug-in on what its parent holds at the time
 * of the fork; samples go to it, values come back. Whatever it does, the
 * parent stays whole.
 *
 * SPDX-License-Identifier: MIT */
#ifndef METRICS_METRIC_CHILD_H
#define METRICS_METRIC_CHILD_H

#include "base/child.h"

#include <assay/metric.h>

/* Start from {0}: there is none. */
struct metric_child {
    struct child process;
    bool is_deaf;   /* it does not listen any more */
    double seconds; /* that it may keep its parent waiting */
};

/* Starts a child that begins the function, waits for samples and computes. */
enum assay_status metric_child_start(
    struct metric_child *child, const struct assay_metric_function *function,
    const struct assay_metric_input *input, double seconds, struct error *err);

/* Hands it a sample. Not where it is gone: metric_child_finish() tells. */
void metric_child_sample(struct metric_child *child,
                         const struct assay_sample *sample);

/* No more samples: waits for the values and ends the child.
 * evaluated: what the samples came to, or NULL. Its failure, its death or its
 * silence is the answer. */
enum assay_status metric_child_finish(
    struct metric_child *child, const struct assay_metric_function *function,
    const struct assay_evaluated *evaluated, double *values, struct error *err);

/* Ends one that is not wanted any more. Accepts {0}. */
void metric_child_stop(struct metric_child *child);

#endif
