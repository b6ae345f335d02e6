/* base/map.h - a hash map from bytes to a number.
 *
 * The values are indexes or pointers (cast); the map does not own what they
 * refer to. Keys are copied. Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/arena.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_slot *slots;
    size_t n, n_slots;
    struct arena keys;
};

/* Initialise to {0}. */
void map_release(struct map *map);

/* False, with *value unchanged, if the key is missing. value may be NULL. */
bool map_find(const struct map *map, const void *key, size_t key_bytes,
              uint64_t *value);

/* Adds the key or replaces its value. ASSAY_NOMEM leaves the map as it was. */
enum assay_status map_put(struct map *map, const void *key, size_t key_bytes,
                          uint64_t value);

/* The same for NUL-terminated keys. */
bool map_find_text(const struct map *map, const char *key, uint64_t *value);
enum assay_status map_put_text(struct map *map, const char *key,
                               uint64_t value);

/* A 64-bit hash of some bytes (FNV-1a with a final mix). The same in every
 * process, so it may be stored. */
uint64_t map_hash(const void *bytes, size_t n);

#endif
