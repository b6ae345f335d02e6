/* observe/shortage.h - a device's memory was not enough for a batch: what would
 * be.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OBSERVE_SHORTAGE_H
#define OBSERVE_SHORTAGE_H

#include "tensor/pool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a pass over `batch` images needed of a device's memory until it found no
 * more. */
struct shortage {
    size_t available_bytes; /* of the device, with what is held already */
    size_t fixed_bytes;     /* whatever the batch: weights, optimizer */
    size_t peak_bytes;      /* live at most, with the fixed ones */
    int64_t batch;
};

/* Fills all but the batch. False: the device does not say what is free, or the
 * memory is the host's. */
bool shortage_look(struct pool *pool, struct shortage *out);

/* How many images a pass could have at most: fewer may still be too many, since
 * nobody saw the rest of the pass. */
int64_t shortage_batch(const struct shortage *shortage);

#endif
