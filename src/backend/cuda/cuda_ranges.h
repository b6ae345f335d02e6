/* backend/cuda/cuda_ranges.h - the memory that a GPU's driver gave us, in
 * pieces.
 *
 * Addresses are reserved once and memory is mapped behind the last of them as
 * it is needed, so that pieces that come back are neighbours: two ranges, one
 * for small pieces, which live long. A GPU whose addresses cannot be mapped
 * gives segments. Memory goes back to the driver only by ranges_trim() and
 * ranges_release(). Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_RANGES_H
#define BACKEND_CUDA_CUDA_RANGES_H

#include "backend/cuda/cuda_internal.h"
#include "backend/cuda/cuda_pieces.h"

struct cuda_range {
    struct pieces pieces;
    cu_pointer base; /* of the reserved addresses; of a segment, 0 */
    size_t reserved_bytes;
    size_t *chunks; /* sizes that were mapped, in order */
    size_t n_chunks, chunks_capacity;
    struct cuda_range *next; /* of segments */
};

struct cuda_ranges {
    struct cuda_range small, large;
    struct cuda_range *segments;
    bool is_reserved, is_refused; /* the addresses */
    size_t live_bytes;
    struct cuda_memory_usage *usage; /* of the GPU: what is here counts there */
};

/* 0: the driver has no more. */
cu_pointer ranges_take(struct cuda_device *device, struct cuda_ranges *ranges,
                       size_t bytes);
/* False: it is none of theirs. */
bool ranges_give(struct cuda_ranges *ranges, cu_pointer at);
/* Gives what nobody uses back to the driver, as far as it is at an end; the
 * device must be idle. */
void ranges_trim(struct cuda_ranges *ranges);
/* Gives all back, also the addresses; nothing of it is in use, and the device
 * is idle. */
void ranges_release(struct cuda_ranges *ranges);

#endif
