/* base/vec.c - see vec.h. */
#include "base/vec.h"

#include "base/mem.h"

#include <string.h>

void *vec_reserve(void *items, size_t *capacity, size_t n, size_t item_size)
{
    size_t enough = *capacity ? *capacity : 8;
    size_t bytes;
    void *moved;

    if (items && n <= *capacity)
        return items;
    while (enough < n) {
        if (!mem_mul(enough, 2, &enough))
            return NULL;
    }
    if (!mem_mul(enough, item_size, &bytes))
        return NULL;
    moved = mem_realloc(items, bytes);
    if (moved)
        *capacity = enough;
    return moved;
}

/* memcpy(), because items may be the address of a pointer to any type. */
bool vec_grow(void *items, size_t *capacity, size_t n, size_t item_size)
{
    void *moved;

    memcpy(&moved, items, sizeof moved);
    moved = vec_reserve(moved, capacity, n, item_size);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    return true;
}
