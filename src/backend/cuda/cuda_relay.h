/* backend/cuda/cuda_relay.h - copies in parts through a few pinned buffers:
 * while one part is on the bus, threads of the host copy the others.
 *
 * Waking threads takes longer than copying a part, so they are woken once per
 * copy, and none waits for one that comes late.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_RELAY_H
#define BACKEND_CUDA_CUDA_RELAY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { RELAY_BUFFERS = 4, RELAY_BYTES = 2 << 20 };

/* The bus. Both are called on the thread that called the relay. */
struct relay_bus {
    /* Queues the copy of a part between the device, `offset` bytes after its
     * begin, and a buffer. */
    enum assay_status (*start)(void *context, size_t buffer, size_t offset,
                               size_t bytes, struct error *err);
    /* Whether the last copy of a buffer is over, or none was; waits: waits
     * until it is. */
    enum assay_status (*is_over)(void *context, size_t buffer, bool waits,
                                 bool *is_over, struct error *err);
    char *const *buffers; /* RELAY_BUFFERS of RELAY_BYTES */
    void *context;
};

/* Returns when the last part is queued. */
enum assay_status relay_in(const struct relay_bus *bus, const void *from,
                           size_t bytes, struct error *err);
/* Returns when everything is there. */
enum assay_status relay_out(const struct relay_bus *bus, void *to, size_t bytes,
                            struct error *err);

#endif
