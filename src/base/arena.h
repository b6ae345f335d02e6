/* base/arena.h - many small blocks that are freed together.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *blocks;
    size_t bytes; /* taken from mem_alloc() in total */
};

/* Initialise to {0}. */
void arena_release(struct arena *arena);

/* Aligned for any type, not zeroed; NULL if memory runs out. Lives until
 * arena_release(). */
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_strndup(struct arena *arena, const char *text, size_t n);
char *arena_strdup(struct arena *arena, const char *text);

#endif
