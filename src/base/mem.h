/* base/mem.h - counted memory that can be told to fail.
 *
 * Every allocation of the program goes through here, so that a test can count
 * what is live and let the n-th request fail. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* All return NULL when there is no memory (or n * size overflows); the caller
 * says what it was for with error_nomem(). A request of 0 bytes gives a valid
 * block. mem_realloc() leaves the old block alone on failure. */
void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
void *mem_array(size_t n, size_t item_size); /* zeroed */
void *mem_realloc(void *block, size_t bytes);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t n); /* stops at a NUL too */
void mem_free(void *block);                    /* accepts NULL */

/* alignment is a power of two, at least sizeof(void *). */
void *mem_alloc_aligned(size_t alignment, size_t bytes);

/* Whole pages from the system, zeroed and aligned to a page, much of it to a
 * large one; mem_unmap() gives them back at once, whatever else is live. NULL
 * also where the system has less left than that, whatever it promises. */
void *mem_map(size_t bytes);
void mem_unmap(void *block, size_t bytes); /* accepts NULL */

/* a * b into *out; false when it does not fit. */
bool mem_mul(size_t a, size_t b, size_t *out);
bool mem_add(size_t a, size_t b, size_t *out);

/* Blocks and bytes handed out and not yet given back, and their high-water
 * mark in bytes since the last mem_reset_peak(). */
long mem_live(void);
size_t mem_live_bytes(void);
size_t mem_peak_bytes(void);
void mem_reset_peak(void);

/* For tests: the n-th request from now on (0 is the next one) fails, and so do
 * all after it; -1 ends that. mem_fail_once_at() lets only that one fail. */
void mem_fail_at(long nth);
void mem_fail_once_at(long nth);

#endif
