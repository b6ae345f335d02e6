/* train/fit.h - the largest batch that trains within an amount of memory.
 *
 * Nothing is estimated: every trial is a short training in a process of its
 * own that is ended where more than the limit is resident, so that running out
 * of memory ends the trial and nothing else. What a trial needed tells which
 * batch to try next.
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
    FIT_REFUSED, /* an allocation failed before */
    FIT_KILLED   /* by the system, or by a library without memory */
};

struct fit_trial {
    int64_t batch;
    enum fit_end end;
    size_t peak_bytes;   /* resident at most; 0: it never came to a step */
    double images_per_s; /* where it fits */
    bool is_check;       /* the answer, once more */
};

struct fit_options {
    size_t memory_bytes; /* the limit */
    int64_t most;        /* no larger batch is tried */

    /* A training of some steps; called in the child. is_check: the last one,
     * which may take longer. ASSAY_NOMEM where there is not enough memory;
     * every other failure ends the search. */
    enum assay_status (*train)(void *context, int64_t batch, bool is_check,
                               double *images_per_s, struct error *err);
    /* Told of every trial that has ended, in the parent; may be NULL. */
    void (*tried)(void *context, const struct fit_trial *trial);
    void *context;
};

struct fit_result {
    int64_t batch;          /* 0: not even one image fits */
    struct fit_trial trial; /* of it, or of the one image */
    bool is_most;           /* it is options.most */
    size_t n_trials;
};

/* To be called while there is one thread: children are forked. */
enum assay_status fit_search(const struct fit_options *options,
                             struct fit_result *out, struct error *err);

/* ---- fit_trial.c -------------------------------------------------------- */

enum assay_status fit_trial(const struct fit_options *options, int64_t batch,
                            bool is_check, struct fit_trial *out,
                            struct error *err);

#endif
