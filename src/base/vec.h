/* base/vec.h - growing a typed array.
 *
 * A vector is three fields of its owner: `struct scope *scopes; size_t
 * n_scopes, scopes_capacity;`. Only the growing is worth sharing.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for at least n items in the array that *items points to, which may
 * move. items is the address of a pointer. False if memory runs out; the array
 * is then unchanged.
 *
 *     if (!vec_grow(&run->scopes, &run->scopes_capacity, run->n_scopes + 1,
 *                   sizeof *run->scopes))
 *         return error_nomem(...); */
bool vec_grow(void *items, size_t *capacity, size_t n, size_t item_size);

/* The same, but returns the array, or NULL. */
void *vec_reserve(void *items, size_t *capacity, size_t n, size_t item_size);

#endif
