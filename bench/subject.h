/* bench/subject.h - a model that takes turns with a peer.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BENCH_SUBJECT_H
#define BENCH_SUBJECT_H

#include "bench.h"
#include "peer.h"

#include "session/frame.h"

/* A model with random values ready for it. */
struct subject {
    struct session session;
    struct frame frame;
};

/* Opens the model for n_images at a time and runs it n_first times, which
 * chooses kernels and touches memory. Release it also after a failure. */
enum assay_status subject_open(struct subject *subject,
                               const struct session_options *options,
                               size_t n_images, int n_first, struct error *err);
void subject_release(struct subject *subject);

/* The peer runs the job to warm up, then both run in turn, twice each: the
 * second run counts. */
enum assay_status subject_compare(struct subject *subject, struct peer *peer,
                                  const char *job, int n_rounds,
                                  struct pairs *pairs, struct error *err);

#endif
