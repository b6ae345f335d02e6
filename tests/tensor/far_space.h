/* tests/tensor/far_space.h - memory that the host cannot touch, behind a queue
 * that runs late.
 *
 * The space's addresses lie in a mapping that nobody may read or write. A
 * worker thread sees the same bytes through another mapping, at far_near().
 * What is queued, copies included, runs on the worker in order, but not before
 * somebody waits for it or more has piled up than the worker likes to see. What
 * is given back is overwritten in its turn of the queue, so that a kernel that
 * reads it too late computes with NaN. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TESTS_TENSOR_FAR_SPACE_H
#define TESTS_TENSOR_FAR_SPACE_H

#include "tensor/space.h"

#include <stdint.h>

struct far;

/* NULL: no memory. `name` is kept by the caller. */
struct far *far_new(const char *name, size_t bytes);
/* Runs what is left of the queue. All memory must have been given back. */
void far_free(struct far *far);
struct space *far_space(struct far *far);
size_t far_live_bytes(struct far *far);
/* How often send() was asked for, of a space that is a far one. */
uint64_t far_sent(struct space *space);

/* Where the worker finds what a far address means; others stay as they are. */
void *far_near(struct far *far, const void *address);

typedef enum assay_status far_run(void *context, struct error *err);

/* Puts a job at the end of the queue. The context is freed by `release` when it
 * ran, or at once if there is no memory for the job. */
enum assay_status far_queue(struct far *far, uint32_t tag, far_run *run,
                            void *context, void (*release)(void *context),
                            struct error *err);
/* Until the queue is empty. The first failure since the last wait: what was
 * queued after it did not run. */
enum assay_status far_wait(struct far *far, struct error *err);

/* Passes of which several are queued: the first failure since the last such
 * mark, or wait, ends here. What follows runs. `to` has it once the mark was
 * reached. */
struct far_failure {
    enum assay_status status;
    struct error error;
};

enum assay_status far_queue_end(struct far *far, struct far_failure *to,
                                struct error *err);
/* How many jobs were queued so far, and until so many ran. */
uint64_t far_queued(struct far *far);
void far_reach(struct far *far, uint64_t n);
struct far *far_of_space(struct space *space);

struct far_timing {
    uint32_t tag;
    int64_t launched_ns, begin_ns, end_ns; /* of CLOCK_MONOTONIC */
};

/* Jobs that ran and were not visited yet, in the order they ran in. */
void far_timings(struct far *far,
                 void (*visit)(void *context, const struct far_timing *timing),
                 void *context);

#endif
