/* backend/cuda/cuda_zones.h - the memory of a GPU by how long it stays.
 *
 * A recorded pass reads and writes at the same addresses for as long as it
 * lives, also at those that were given back while it was recorded: what it was
 * given is a zone of its own. So are weights, which would otherwise stand in
 * the way of what passes leave. Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_ZONES_H
#define BACKEND_CUDA_CUDA_ZONES_H

#include "backend/cuda/cuda_ranges.h"

enum { ZONE_PASSING, ZONE_LASTING, ZONE_RECORDED }; /* and those after it */

struct cuda_zone;

struct cuda_zones {
    struct cuda_zone *first;
    uint32_t n_recorded;
    struct cuda_memory_usage usage; /* of all */
};

/* 0: the driver has no more. */
cu_pointer zones_take(struct cuda_device *device, struct cuda_zones *zones,
                      uint32_t id, size_t bytes);
void zones_give(struct cuda_device *device, struct cuda_zones *zones,
                cu_pointer at);
/* Nobody reads what was recorded there any more. It goes back to the driver
 * when its last piece does. */
void zones_forget(struct cuda_device *device, struct cuda_zones *zones,
                  uint32_t id);
/* Gives back to the driver what nobody uses; not while a pass is recorded. */
void zones_trim(struct cuda_device *device, struct cuda_zones *zones);

#endif
