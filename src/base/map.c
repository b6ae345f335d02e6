/* base/map.c - open addressing with linear probing, at most 3/4 full. */
#include "base/map.h"

#include "base/mem.h"

#include <string.h>

struct map_slot {
    const char *key; /* NULL: free */
    size_t key_bytes;
    uint64_t hash;
    uint64_t value;
};

uint64_t map_hash(const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

void map_release(struct map *map)
{
    mem_free(map->slots);
    arena_release(&map->keys);
    *map = (struct map){0};
}

/* The slot that holds the key, or the free one where it belongs. */
static struct map_slot *probe(struct map_slot *slots, size_t n_slots,
                              uint64_t hash, const void *key, size_t key_bytes)
{
    size_t i = (size_t)hash & (n_slots - 1);

    while (slots[i].key &&
           (slots[i].hash != hash || slots[i].key_bytes != key_bytes ||
            memcmp(slots[i].key, key, key_bytes) != 0))
        i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

bool map_find(const struct map *map, const void *key, size_t key_bytes,
              uint64_t *value)
{
    const struct map_slot *slot;

    if (!map->n_slots)
        return false;
    slot = probe(map->slots, map->n_slots, map_hash(key, key_bytes), key,
                 key_bytes);
    if (!slot->key)
        return false;
    if (value)
        *value = slot->value;
    return true;
}

static enum assay_status map_grow(struct map *map)
{
    size_t n_slots = map->n_slots ? map->n_slots * 2 : 16;
    struct map_slot *slots = mem_array(n_slots, sizeof *slots);

    if (!slots)
        return ASSAY_NOMEM;
    for (size_t i = 0; i < map->n_slots; i++) {
        const struct map_slot *old = &map->slots[i];

        if (old->key)
            *probe(slots, n_slots, old->hash, old->key, old->key_bytes) = *old;
    }
    mem_free(map->slots);
    map->slots = slots;
    map->n_slots = n_slots;
    return ASSAY_OK;
}

enum assay_status map_put(struct map *map, const void *key, size_t key_bytes,
                          uint64_t value)
{
    uint64_t hash = map_hash(key, key_bytes);
    struct map_slot *slot;
    char *copy;

    if (map->n + 1 > map->n_slots / 4 * 3) {
        enum assay_status st = map_grow(map);

        if (st)
            return st;
    }
    slot = probe(map->slots, map->n_slots, hash, key, key_bytes);
    if (!slot->key) {
        copy = arena_strndup(&map->keys, key, key_bytes);
        if (!copy)
            return ASSAY_NOMEM;
        *slot = (struct map_slot){
            .key = copy, .key_bytes = key_bytes, .hash = hash};
        map->n++;
    }
    slot->value = value;
    return ASSAY_OK;
}

bool map_find_text(const struct map *map, const char *key, uint64_t *value)
{
    return map_find(map, key, strlen(key), value);
}

enum assay_status map_put_text(struct map *map, const char *key, uint64_t value)
{
    return map_put(map, key, strlen(key), value);
}
