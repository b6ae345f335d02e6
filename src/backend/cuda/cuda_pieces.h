/* backend/cuda/cuda_pieces.h - a range of addresses that is handed out in
 * pieces: best fit, joined again when they come back. It grows at its end only.
 *
 * Nothing here touches the memory, or a GPU. Not thread-safe.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_PIECES_H
#define BACKEND_CUDA_CUDA_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct piece;

enum { PIECE_BYTES = 512, PIECE_BUCKETS = 1024 }; /* sizes are multiples */

struct pieces {
    uint64_t begin, end;                /* of what there is */
    struct piece *first, *last;         /* in the order of their addresses */
    struct piece *free;                 /* a list of those that are free */
    struct piece *taken[PIECE_BUCKETS]; /* lists of the others, by address */
};

void pieces_release(struct pieces *pieces);

/* What a piece for so many bytes takes. */
size_t pieces_round(size_t bytes);
/* The address of a piece of this rounded size; 0: none is large enough. */
uint64_t pieces_take(struct pieces *pieces, size_t bytes);
/* How much more at the end would make room for one. */
size_t pieces_missing(const struct pieces *pieces, size_t bytes);
/* So many bytes more at the end; the first time they begin at `at`. False: no
 * memory of the host's. */
bool pieces_grow(struct pieces *pieces, uint64_t at, size_t bytes);
/* The size of what comes back; 0: there is no such piece. */
size_t pieces_give(struct pieces *pieces, uint64_t at);
/* How much at the end is free, and the range without its last bytes, which
 * are. */
size_t pieces_tail(const struct pieces *pieces);
void pieces_shrink(struct pieces *pieces, size_t bytes);

#endif
