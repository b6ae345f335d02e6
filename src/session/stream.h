/* session/stream.h - photographs that follow each other through a model, with
 * several passes in flight: what a device can do when it does not have to wait
 * for the photographs.
 *
 * Nothing of it is recorded. Before it is timed, the passes over some of the
 * photographs run one at a time and then in flight, and their outputs are
 * compared bit for bit; that also makes what passes in flight need.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_STREAM_H
#define SESSION_STREAM_H

#include "session/ahead.h"
#include "session/stream_books.h"

struct stream_options {
    struct session *session;
    const struct profile_options *profile;
    const struct intake *intake;
    size_t batch;
    size_t n_in_flight;
    uint64_t n_least; /* passes to time */
    double seconds;   /* and for how long at least */
};

struct stream_result {
    size_t n_in_flight;
    int n_threads;               /* that decode */
    uint64_t n_passes, n_images; /* timed */
    uint64_t n_one_by_one;       /* of the passes; the device's books are not
                                    known then */
    double seconds;
    int64_t latency_ns, p95_ns; /* of a pass: from a decoded photograph to its
                                   results; median and 95th percentile */
    struct stream_books books;
    size_t n_compared, n_same; /* passes */
};

/* Fails with the first photograph in order that fails. */
enum assay_status stream_run(const struct stream_options *options,
                             struct stream_result *result, struct error *err);

#endif
