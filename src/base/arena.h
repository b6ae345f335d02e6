/* base/arena.h - many small things that live and die together.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena {
    struct arena_block *blocks;
    size_t bytes; /* held from mem_alloc() in all */
};

/* Start from {0}. */
void arena_release(struct arena *arena);

/* Aligned for any type, not zeroed; NULL without memory. Lives until
 * arena_release(). */
void *arena_alloc(struct arena *arena, size_t bytes);
char *arena_strndup(struct arena *arena, const char *text, size_t n);
char *arena_strdup(struct arena *arena, const char *text);

#endif
