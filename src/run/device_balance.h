/* run/device_balance.h - the books of a device: what it did in an iteration,
 * and what it waited for.
 *
 * kernels + copies + idle = the iteration's span, exactly: from its beginning
 * to its end on the host's clock, with the union of what ran on the device's
 * lanes. Where two things ran at once the time is that of the first.
 *
 * Stands on run.
 *
 * SPDX-License-Identifier: MIT */
#ifndef RUN_DEVICE_BALANCE_H
#define RUN_DEVICE_BALANCE_H

#include "run/run.h"

/* What a device waits for while it is idle. */
#define RUN_IDLE_REASONS(X)                                                    \
    X(IDLE_LAUNCH, "launch")         /* the host to launch what ran next */    \
    X(IDLE_SYNC, "synchronisation")  /* the host, which waited for a result */ \
    X(IDLE_COPY, "copy")             /* the host to prepare a copy */          \
    X(IDLE_PHOTOGRAPH, "photograph") /* decoded and prepared meanwhile */      \
    X(IDLE_DATA, "data")             /* the loop waited for a batch */         \
    X(IDLE_HOST, "host")             /* what else the host did */

enum idle_reason {
#define RUN_IDLE_ENUM(name, text) name,
    RUN_IDLE_REASONS(RUN_IDLE_ENUM)
#undef RUN_IDLE_ENUM
        N_IDLE_REASONS
};

const char *idle_reason_text(enum idle_reason reason);

struct device_balance {
    uint32_t iteration;
    double span_ns, kernels_ns, copies_ns, idle_ns;
    double reasons_ns[N_IDLE_REASONS]; /* their sum is idle_ns */
};

/* Of the iteration that is nearest to the median of those kept in full with
 * something that a device did. *is_known: whether there is one. */
enum assay_status run_device_balance(const struct run *run,
                                     struct device_balance *out, bool *is_known,
                                     struct error *err);

/* If devices were timed in some of the iterations only (RUN_DEVICE_TIMED): the
 * iterations that count, divided by those of them that were timed; otherwise 1.
 */
double run_device_scale(const struct run *run);

/* A kernel, as a scope of its own below the module that launched it: what the
 * host did is the module's alone. */
#define RUN_KERNEL_CLASS "kernel"
/* And of what a model's results wait for a device and are copied in, and of
 * asking a device for the times of what it ran. */
#define RUN_RESULTS_CLASS "Results"

#endif
