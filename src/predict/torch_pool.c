/* predict/torch_pool.c - see torch_pool.h. */
#include "predict/torch_pool.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>

static const double mib = 0x1p20;

void torch_pool_release(struct torch_pool *pool)
{
    mem_free(pool->blocks);
    *pool = (struct torch_pool){0};
}

static double rounded_up(double bytes, double step)
{
    return ceil(fmax(bytes, 1) / step) * step;
}

static double segment_bytes(double bytes, bool is_small)
{
    if (is_small)
        return 2 * mib;
    return bytes < 10 * mib ? 20 * mib : rounded_up(bytes, 2 * mib);
}

/* Of equal ones, the one that was there first. */
static uint32_t find_fit(const struct torch_pool *pool, double bytes,
                         bool is_small)
{
    uint32_t best = TORCH_NO_BLOCK;

    for (uint32_t i = 0; i < pool->n; i++) {
        const struct torch_block *block = &pool->blocks[i];

        if (!block->is_free || block->is_gone || block->is_small != is_small ||
            block->bytes < bytes)
            continue;
        if (best == TORCH_NO_BLOCK || block->bytes < pool->blocks[best].bytes)
            best = i;
    }
    return best;
}

static uint32_t torch_block_add(struct torch_pool *pool, double bytes,
                                bool is_small)
{
    pool->blocks[pool->n] = (struct torch_block){.bytes = bytes,
                                                 .before = TORCH_NO_BLOCK,
                                                 .after = TORCH_NO_BLOCK,
                                                 .is_small = is_small};
    return (uint32_t)pool->n++;
}

/* What is left over is a free block of its own, unless it is little. */
static void cut_block(struct torch_pool *pool, uint32_t id, double bytes)
{
    bool is_small = pool->blocks[id].is_small;
    double left = pool->blocks[id].bytes - bytes;
    uint32_t rest;

    if (is_small ? left < 512 : left <= mib)
        return;
    rest = torch_block_add(pool, left, is_small);
    pool->blocks[rest].is_free = true;
    pool->blocks[rest].before = id;
    pool->blocks[rest].after = pool->blocks[id].after;
    if (pool->blocks[id].after != TORCH_NO_BLOCK)
        pool->blocks[pool->blocks[id].after].before = rest;
    pool->blocks[id].after = rest;
    pool->blocks[id].bytes = bytes;
}

bool torch_pool_take(struct torch_pool *pool, double bytes, uint32_t *block)
{
    double rounded = rounded_up(bytes, 512);
    bool is_small = rounded <= mib;
    uint32_t id;

    if (!vec_grow(&pool->blocks, &pool->capacity, pool->n + 2,
                  sizeof *pool->blocks))
        return false;
    id = find_fit(pool, rounded, is_small);
    if (id == TORCH_NO_BLOCK) {
        id = torch_block_add(pool, segment_bytes(rounded, is_small), is_small);
        pool->reserved += pool->blocks[id].bytes;
    }
    pool->blocks[id].is_free = false;
    cut_block(pool, id, rounded);
    pool->used += pool->blocks[id].bytes;
    pool->peak = fmax(pool->peak, pool->used);
    *block = id;
    return true;
}

/* Joins a free block with the one after it, if that is free too. */
static void join_after(struct torch_pool *pool, uint32_t id)
{
    struct torch_block *block = &pool->blocks[id];
    uint32_t next = block->after;

    if (next == TORCH_NO_BLOCK || !pool->blocks[next].is_free)
        return;
    block->bytes += pool->blocks[next].bytes;
    block->after = pool->blocks[next].after;
    if (block->after != TORCH_NO_BLOCK)
        pool->blocks[block->after].before = id;
    pool->blocks[next].is_gone = true;
}

void torch_pool_give(struct torch_pool *pool, uint32_t block)
{
    uint32_t before = pool->blocks[block].before;

    pool->used -= pool->blocks[block].bytes;
    pool->blocks[block].is_free = true;
    join_after(pool, block);
    if (before != TORCH_NO_BLOCK && pool->blocks[before].is_free)
        join_after(pool, before);
}
