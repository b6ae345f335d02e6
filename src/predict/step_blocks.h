/* predict/step_blocks.h - the time of a step on a GPU that nothing disturbed.
 *
 * Steps are measured in short blocks, every other one from other processors of
 * the host: a GPU waits for the host that launches its kernels, and a processor
 * that is shared with others is slow for as long as a test takes. The blocks
 * between them have all processors. Within a block the median counts, and of
 * the blocks the least.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PREDICT_STEP_BLOCKS_H
#define PREDICT_STEP_BLOCKS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum { N_STEP_BLOCKS = 16, N_STEP_GROUPS = 8 };

/* A block is over when its steps took this long together. */
#define STEP_BLOCK_MS 25.0

struct step_blocks {
    double least_ms;
    bool is_steady; /* a third of the blocks are within 2 % of the least */
};

/* The steps in the order in which they were made; changes it. */
struct step_blocks step_blocks_of(double *steps_ms, size_t n);

/* The processors that this thread may use, in eight groups, or fewer if there
 * are not that many. */
struct block_processors {
    cpu_set_t allowed;
    int n;
    bool are_known;
};

struct block_processors block_processors_find(void);
/* Moves the calling thread to the processors of a block, or back to all. */
void block_processors_use(const struct block_processors *own, size_t block);
void block_processors_leave(const struct block_processors *own);

#endif
