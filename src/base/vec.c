/* base/vec.c - see vec.h. */
#include "base/vec.h"

#include "base/mem.h"

void *vec_reserve(void *items, size_t *capacity, size_t n, size_t item_size)
{
    size_t wanted = *capacity ? *capacity : 8;
    size_t bytes;
    void *moved;

    if (items && n <= *capacity)
        return items;
    while (wanted < n) {
        if (!mem_mul(wanted, 2, &wanted))
            return NULL;
    }
    if (!mem_mul(wanted, item_size, &bytes))
        return NULL;
    moved = mem_realloc(items, bytes);
    if (moved)
        *capacity = wanted;
    return moved;
}
