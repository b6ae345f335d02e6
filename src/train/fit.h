/* train/fit.h - the largest batch that trains within an amount of memory.
 *
 * Nothing is estimated: every trial is a short training in a process of its
 * own, which is ended when more than the limit is resident, so that running out
 * of memory ends the trial and nothing else. The memory of each trial decides
 * which batch to try next.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TRAIN_FIT_H
#define TRAIN_FIT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fit_end {
    FIT_FITS,
    FIT_OVER,    /* more than the limit was resident */
    FIT_REFUSED, /* an allocation failed first */
    FIT_KILLED   /* by the system, or by a library that ran out of memory */
};

struct fit_trial {
    int64_t batch;
    enum fit_end end;
    size_t peak_bytes;   /* most that was resident; 0: it never reached a
                            step */
    double images_per_s; /* if it fits */
    bool is_check;       /* a repeat of the answer */
};

struct fit_options {
    size_t memory_bytes; /* the limit */
    int64_t most;        /* largest batch to try */

    /* Trains for a few steps; called in the child. is_check: the last trial,
     * which may take longer. ASSAY_NOMEM if memory runs out; any other failure
     * ends the search. */
    enum assay_status (*train)(void *context, int64_t batch, bool is_check,
                               double *images_per_s, struct error *err);
    /* Called in the parent after every trial; may be NULL. */
    void (*tried)(void *context, const struct fit_trial *trial);
    void *context;
};

struct fit_result {
    int64_t batch;          /* 0: not even one image fits */
    struct fit_trial trial; /* of that batch, or of the one image */
    bool is_most;           /* batch is options.most */
    size_t n_trials;
};

/* Call it while there is only one thread: it forks. */
enum assay_status fit_search(const struct fit_options *options,
                             struct fit_result *out, struct error *err);

#endif
