/* predict/torch_pool.h - PyTorch's caching allocator of a GPU, without the GPU.
 *
 * It takes segments from the driver and cuts them into blocks, which it keeps
 * when they are freed: what the driver sees is the segments. Sizes are rounded
 * to 512 bytes. Up to 1 MiB comes from segments of 2 MiB, less than 10 MiB from
 * segments of 20, and more from one of its own, rounded to 2 MiB. The smallest
 * free block that is large enough is taken, and neighbours are joined.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_TORCH_POOL_H
#define PREDICT_TORCH_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORCH_NO_BLOCK UINT32_MAX

struct torch_block {
    double bytes;
    uint32_t before, after; /* neighbours in its segment, or TORCH_NO_BLOCK */
    bool is_free, is_small, is_gone; /* is_gone: joined with a neighbour */
};

/* Start from {0}. */
struct torch_pool {
    struct torch_block *blocks;
    size_t n, capacity;
    double used, peak; /* bytes given out */
    double reserved;   /* bytes of segments */
};

void torch_pool_release(struct torch_pool *pool);
/* False if there is no memory for the list of blocks. */
bool torch_pool_take(struct torch_pool *pool, double bytes, uint32_t *block);
void torch_pool_give(struct torch_pool *pool, uint32_t block);

#endif
