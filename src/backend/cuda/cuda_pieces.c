/* backend/cuda/cuda_pieces.c - see cuda_pieces.h. */
#include "backend/cuda/cuda_pieces.h"

#include "base/mem.h"

#include <assert.h>

struct piece {
    uint64_t at;
    size_t bytes;
    bool is_free;
    struct piece *next, *before; /* by address */
    /* In the list of the free, or in its bucket. */
    struct piece *next_alike, *before_alike;
};

/* ---- lists --------------------------------------------------------------- */

static struct piece **list_of(struct pieces *pieces, const struct piece *piece)
{
    return piece->is_free
               ? &pieces->free
               : &pieces->taken[piece->at / PIECE_BYTES % PIECE_BUCKETS];
}

static void piece_list(struct pieces *pieces, struct piece *piece)
{
    struct piece **list = list_of(pieces, piece);

    piece->before_alike = NULL;
    piece->next_alike = *list;
    if (*list)
        (*list)->before_alike = piece;
    *list = piece;
}

static void piece_unlist(struct pieces *pieces, struct piece *piece)
{
    if (piece->before_alike)
        piece->before_alike->next_alike = piece->next_alike;
    else
        *list_of(pieces, piece) = piece->next_alike;
    if (piece->next_alike)
        piece->next_alike->before_alike = piece->before_alike;
}

static void piece_insert(struct pieces *pieces, struct piece *piece,
                         struct piece *before)
{
    piece->before = before;
    piece->next = before ? before->next : pieces->first;
    *(before ? &before->next : &pieces->first) = piece;
    *(piece->next ? &piece->next->before : &pieces->last) = piece;
    piece_list(pieces, piece);
}

static void piece_remove(struct pieces *pieces, struct piece *piece)
{
    piece_unlist(pieces, piece);
    *(piece->before ? &piece->before->next : &pieces->first) = piece->next;
    *(piece->next ? &piece->next->before : &pieces->last) = piece->before;
    mem_free(piece);
}

void pieces_release(struct pieces *pieces)
{
    while (pieces->first)
        piece_remove(pieces, pieces->first);
    *pieces = (struct pieces){0};
}

/* ---- out and back -------------------------------------------------------- */

size_t pieces_round(size_t bytes)
{
    return (bytes + !bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
}

/* The smallest, and of equals the one with the lowest address: what is at the
 * end stays free. */
static struct piece *piece_find(const struct pieces *pieces, size_t bytes)
{
    struct piece *best = NULL;

    for (struct piece *at = pieces->free; at; at = at->next_alike) {
        if (at->bytes >= bytes &&
            (!best || at->bytes < best->bytes ||
             (at->bytes == best->bytes && at->at < best->at)))
            best = at;
    }
    return best;
}

/* Cuts what is not needed off; without memory for its description it stays. */
static void piece_cut(struct pieces *pieces, struct piece *piece, size_t bytes)
{
    struct piece *rest;

    if (piece->bytes == bytes)
        return;
    rest = mem_zalloc(sizeof *rest);
    if (!rest)
        return;
    rest->at = piece->at + bytes;
    rest->bytes = piece->bytes - bytes;
    rest->is_free = true;
    piece->bytes = bytes;
    piece_insert(pieces, rest, piece);
}

uint64_t pieces_take(struct pieces *pieces, size_t bytes)
{
    struct piece *piece = piece_find(pieces, bytes);

    if (!piece)
        return 0;
    piece_cut(pieces, piece, bytes);
    piece_unlist(pieces, piece);
    piece->is_free = false;
    piece_list(pieces, piece);
    return piece->at;
}

/* Joins a piece with the one after it, if both are free. */
static void piece_join(struct pieces *pieces, struct piece *piece)
{
    struct piece *next = piece ? piece->next : NULL;

    if (!next || !piece->is_free || !next->is_free)
        return;
    piece->bytes += next->bytes;
    piece_remove(pieces, next);
}

size_t pieces_give(struct pieces *pieces, uint64_t at)
{
    struct piece *piece = pieces->taken[at / PIECE_BYTES % PIECE_BUCKETS];
    size_t bytes;

    while (piece && piece->at != at)
        piece = piece->next_alike;
    if (!piece)
        return 0;
    bytes = piece->bytes;
    piece_unlist(pieces, piece);
    piece->is_free = true;
    piece_list(pieces, piece);
    piece_join(pieces, piece);
    piece_join(pieces, piece->before);
    return bytes;
}

/* ---- the end ------------------------------------------------------------- */

size_t pieces_tail(const struct pieces *pieces)
{
    return pieces->last && pieces->last->is_free ? pieces->last->bytes : 0;
}

size_t pieces_missing(const struct pieces *pieces, size_t bytes)
{
    size_t tail = pieces_tail(pieces);

    return bytes > tail ? bytes - tail : 0;
}

bool pieces_grow(struct pieces *pieces, uint64_t at, size_t bytes)
{
    struct piece *piece = mem_zalloc(sizeof *piece);

    if (!piece)
        return false;
    if (!pieces->last)
        pieces->begin = pieces->end = at;
    piece->at = pieces->end;
    piece->bytes = bytes;
    piece->is_free = true;
    pieces->end += bytes;
    piece_insert(pieces, piece, pieces->last);
    piece_join(pieces, piece->before);
    return true;
}

void pieces_shrink(struct pieces *pieces, size_t bytes)
{
    assert(bytes <= pieces_tail(pieces));
    pieces->end -= bytes;
    pieces->last->bytes -= bytes;
    if (!pieces->last->bytes)
        piece_remove(pieces, pieces->last);
}
