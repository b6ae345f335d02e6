/* base/arena.c - see arena.h. */
#include "base/arena.h"

#include "base/mem.h"

#include <stdalign.h>
#include <string.h>

enum { block_bytes = 16 * 1024 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    alignas(max_align_t) char data[];
};

void arena_release(struct arena *arena)
{
    struct arena_block *block = arena->blocks;

    while (block) {
        struct arena_block *next = block->next;

        mem_free(block);
        block = next;
    }
    *arena = (struct arena){0};
}

static struct arena_block *add_block(struct arena *arena, size_t at_least)
{
    size_t size = at_least > block_bytes ? at_least : block_bytes;
    struct arena_block *block;
    size_t bytes;

    if (!mem_add(size, sizeof *block, &bytes))
        return NULL;
    block = mem_alloc(bytes);
    if (!block)
        return NULL;
    *block = (struct arena_block){.next = arena->blocks, .size = size};
    arena->blocks = block;
    arena->bytes += bytes;
    return block;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
    const size_t alignment = alignof(max_align_t);
    struct arena_block *block = arena->blocks;
    void *item;

    if (!mem_add(bytes, alignment - 1, &bytes))
        return NULL;
    bytes -= bytes % alignment;
    if (!block || block->size - block->used < bytes) {
        block = add_block(arena, bytes);
        if (!block)
            return NULL;
    }
    item = block->data + block->used;
    block->used += bytes;
    return item;
}

char *arena_strndup(struct arena *arena, const char *text, size_t n)
{
    char *copy = arena_alloc(arena, n + 1);

    if (copy) {
        memcpy(copy, text, n);
        copy[n] = '\0';
    }
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}
