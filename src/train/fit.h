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

#include "backend/device.h"
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
    size_t peak_bytes;   /* most that was resident, or taken of the device; 0:
                            it never reached a step */
    double images_per_s; /* if it fits */
    bool is_check;       /* a repeat of the answer */
};

/* What a training says about itself. */
struct fit_trained {
    double images_per_s;
    size_t device_bytes; /* most that it took of a device's memory */
};

struct fit_options {
    size_t memory_bytes; /* the limit */
    bool is_on_device;   /* of a device's memory: the training itself keeps to
                            it, and the host's is not watched */
    int64_t most;        /* largest batch to try */

    /* Trains for a few steps; called in the child. is_check: the last trial,
     * which may take longer. ASSAY_NOMEM if memory runs out; any other failure
     * ends the search. */
    enum assay_status (*train)(void *context, int64_t batch, bool is_check,
                               struct fit_trained *trained, struct error *err);
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

/* Where a training would run, and what that has left of its memory. */
struct fit_place {
    bool is_host;
    char device[32];   /* "cuda:0" */
    size_t free_bytes; /* 0: unknown */
};

/* Asks in a process of its own: a GPU that this one has used would be lost to
 * the trials. find() finds the device. */
enum assay_status fit_find_place(
    enum assay_status (*find)(void *context, const struct device **out,
                              struct error *err),
    void *context, struct fit_place *out, struct error *err);

/* Call it while there is only one thread: it forks. */
enum assay_status fit_search(const struct fit_options *options,
                             struct fit_result *out, struct error *err);

#endif
