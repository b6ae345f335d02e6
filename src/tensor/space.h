/* tensor/space.h - where memory is: the host's, or a device's own.
 *
 * Only the host's memory may be read and written through its address. What
 * touches another space goes through the queue of its device, in order: a copy
 * sees what was queued before it, and memory may go to its next user while a
 * kernel that was queued earlier still reads it. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TENSOR_SPACE_H
#define TENSOR_SPACE_H

#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SPACE_ALIGNMENT = 64 }; /* a cache line, an AVX-512 register */

struct space {
    const char *name; /* "host", "cuda:0" */
    bool is_host;     /* its addresses are the host's */
    bool keeps;       /* what it is given, for the next to take */
    /* What is given back by who records a pass is kept for that recording, in
     * pieces that are joined: a pool need not hold it. */
    bool keeps_recorded;
    atomic_size_t wrapped_bytes; /* of others, in buffers: see buffer_wrap() */

    /* Aligned to SPACE_ALIGNMENT, not initialised; NULL: no memory left. */
    void *(*take)(struct space *space, size_t bytes);
    /* Optional: the same for what stays as long as its model, weights, apart
     * from what comes and goes. */
    void *(*take_lasting)(struct space *space, size_t bytes);
    /* Optional: what it has and what is left of it, for messages. False:
     * unknown. */
    bool (*room)(struct space *space, size_t *free_bytes, size_t *total_bytes);
    /* Optional (nothing): what it holds of that and nobody uses, in pieces. */
    size_t (*spare)(struct space *space);
    /* Kernels that are queued may still use it: that is the space's to see
     * to. */
    void (*give)(struct space *space, void *data, size_t bytes);
    /* Optional (nothing is held): hands what nobody uses back to the system. */
    void (*trim)(struct space *space);

    /* From the host; `from` may be changed as soon as it returns. */
    enum assay_status (*copy_in)(struct space *space, void *to,
                                 const void *from, size_t bytes,
                                 struct error *err);
    /* To the host, where the data is when it returns. A kernel that failed
     * earlier in the queue fails it. */
    enum assay_status (*copy_out)(struct space *space, void *to,
                                  const void *from, size_t bytes,
                                  struct error *err);
    /* Optional, with the one that follows: starts a copy from the host that
     * runs beside the queue, after what is queued already. `from` must stay as
     * it is, and nothing may use `to`, until receive(). */
    enum assay_status (*send)(struct space *space, void *to, const void *from,
                              size_t bytes, struct error *err);
    /* What is queued from now on runs after everything that was sent. Fails
     * where a copy did. */
    enum assay_status (*receive)(struct space *space, struct error *err);
    /* Between two places of this space that do not overlap. */
    enum assay_status (*copy_within)(struct space *space, void *to,
                                     const void *from, size_t bytes,
                                     struct error *err);
    /* Sets every byte to 0. */
    enum assay_status (*clear)(struct space *space, void *to, size_t bytes,
                               struct error *err);
};

extern struct space space_host;

/* From any space to any, through the host where both are devices. */
enum assay_status space_copy(struct space *to_space, void *to,
                             struct space *from_space, const void *from,
                             size_t bytes, struct error *err);

#endif
