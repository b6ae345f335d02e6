/* backend/flight.h - passes in flight: while a device runs one recorded pass,
 * the inputs of the next are on their way to it, and the results of the one
 * before are on their way back.
 *
 * A flight is the place of one pass: memory of the host's that copies pass
 * through, and marks in the queues. Kernels of several flights run in the order
 * they were launched in; only copies run beside them. One thread at a time may
 * use the flights of a backend.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_FLIGHT_H
#define BACKEND_FLIGHT_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct backend;
struct backend_recording;
struct flight; /* the backend's own */

/* When the device ran the kernels of a pass, of CLOCK_MONOTONIC. Both are 0
 * where nobody knows. */
struct flight_times {
    int64_t begin_ns, end_ns;
};

struct flight_class {
    /* Room for this many bytes of inputs, and of results. What is queued now
     * may still use the memory that will be sent to. */
    enum assay_status (*make)(struct backend *backend, size_t in_bytes,
                              size_t out_bytes, struct flight **out,
                              struct error *err);
    /* Accepts NULL. Waits for what is under way. */
    void (*free)(struct flight *flight);

    /* Starts to copy an input to the device, beside what is queued: nothing
     * that was queued since make() may use `to`. `from` may be changed as soon
     * as it returns. */
    enum assay_status (*send)(struct flight *flight, void *to, const void *from,
                              size_t bytes, struct error *err);
    /* Launches the pass: after everything that was sent, and after all that
     * was queued before. */
    enum assay_status (*launch)(struct flight *flight,
                                const struct backend_recording *recording,
                                struct error *err);
    /* Starts to copy results to the host once the pass is over, beside what is
     * queued after it. *at is where they will be after wait(), until the next
     * launch. */
    enum assay_status (*fetch)(struct flight *flight, const void *from,
                               size_t bytes, const void **at,
                               struct error *err);
    /* Until the pass and what was fetched is there. Fails where the pass did;
     * those launched after it go on if the device can. */
    enum assay_status (*wait)(struct flight *flight, struct error *err);
    /* Of a pass that was waited for. */
    struct flight_times (*times)(struct flight *flight);
};

#endif
