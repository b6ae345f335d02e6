/* base/vec.h - growing a typed array.
 *
 * A vector is three fields of its owner: `struct scope *scopes; size_t
 * n_scopes, scopes_capacity;`. Only the growing is worth sharing.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>

/* Returns the array, moved where needed, with room for at least n items, and
 * updates *capacity. On failure returns NULL; the old array stays as it was.
 *
 *     moved = vec_reserve(run->scopes, &run->scopes_capacity,
 *                         run->n_scopes + 1, sizeof *run->scopes);
 *     if (!moved)
 *         return error_nomem(...);
 *     run->scopes = moved; */
void *vec_reserve(void *items, size_t *capacity, size_t n, size_t item_size);

#endif
