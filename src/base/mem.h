/* base/mem.h - counted memory that tests can make fail.
 *
 * Every allocation of the program goes through here, so that a test can count
 * live blocks and make the n-th request fail. Thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* All return NULL if there is no memory (or n * size overflows); the caller
 * says what it was for with error_nomem(). A request for 0 bytes returns a
 * valid block. mem_realloc() leaves the old block alone on failure. */
void *mem_alloc(size_t bytes);
void *mem_zalloc(size_t bytes);
void *mem_array(size_t n, size_t item_size); /* zeroed */
void *mem_realloc(void *block, size_t bytes);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t n); /* stops at a NUL too */
void mem_free(void *block);                    /* accepts NULL */

/* alignment is a power of two, at least sizeof(void *). */
void *mem_alloc_aligned(size_t alignment, size_t bytes);

/* Whole pages from the system, zeroed and page-aligned, large blocks to a large
 * page; mem_unmap() returns them to the system at once. NULL also if the system
 * has less left than that, whatever it promises. */
void *mem_map(size_t bytes);
void mem_unmap(void *block, size_t bytes); /* accepts NULL */

/* Bytes that this process can still get, including swap, within the limit of
 * its container: Linux hands out more than there is, and kills a process when
 * that is used. Read from /proc and /sys below root ("": this machine);
 * SIZE_MAX if unknown. Needs no memory itself. */
size_t mem_room(const char *root);

/* a * b, a + b into *out; false if that does not fit. */
bool mem_mul(size_t a, size_t b, size_t *out);
bool mem_add(size_t a, size_t b, size_t *out);

/* Blocks and bytes in use, and the peak of the bytes since the last
 * mem_reset_peak(). */
long mem_live(void);
size_t mem_live_bytes(void);
size_t mem_peak_bytes(void);
void mem_reset_peak(void);

/* For tests: the n-th request from now (0 is the next one) fails, and so do all
 * after it; -1 ends that. mem_fail_once_at() makes only that one fail. */
void mem_fail_at(long nth);
void mem_fail_once_at(long nth);

#endif
