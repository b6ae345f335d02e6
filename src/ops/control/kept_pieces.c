/* ops/control/kept_pieces.c - see kept_pieces_internal.h. */
#include "ops/control/kept_pieces_internal.h"

#include "base/mem.h"
#include "base/vec.h"
#include "ops/int_list_internal.h"

#include <string.h>

void kept_pieces_release(struct kept_pieces *pieces)
{
    for (size_t i = 0; i < pieces->n; i++)
        tensor_release(&pieces->items[i]);
    mem_free(pieces->items);
    *pieces = (struct kept_pieces){0};
}

enum assay_status kept_pieces_add(struct kept_pieces *pieces,
                                  struct tensor piece, struct error *err)
{
    struct tensor *moved = vec_reserve(pieces->items, &pieces->capacity,
                                       pieces->n + 1, sizeof *pieces->items);
    const struct tensor *first = pieces->items;
    enum assay_status st = ASSAY_OK;
    char a[64], b[64];

    if (!moved) {
        st = error_nomem(err, sizeof *moved, "what a loop leaves");
    } else {
        pieces->items = moved;
        first = moved;
    }
    if (!st && pieces->n &&
        (first->dtype != piece.dtype ||
         !shape_equal(&first->shape, &piece.shape)))
        st = error_set(err, ASSAY_BAD_INPUT,
                       "an iteration makes %s where the first made %s",
                       shape_text(&piece.shape, a, sizeof a),
                       shape_text(&first->shape, b, sizeof b));
    if (st)
        tensor_release(&piece);
    else
        pieces->items[pieces->n++] = piece;
    return st;
}

/* Bytes of what lies in one piece behind an axis. */
static size_t bytes_behind(const struct tensor *piece, int axis)
{
    return (size_t)shape_span(&piece->shape, axis, piece->shape.rank) *
           dtype_bytes(piece->dtype);
}

enum assay_status kept_pieces_stack(const struct kept_pieces *pieces,
                                    int64_t wanted_axis, bool is_reverse,
                                    struct pool *pool, struct tensor *out,
                                    struct error *err)
{
    struct tensor none = {.dtype = DTYPE_F32};
    const struct tensor *piece = pieces->n ? &pieces->items[0] : &none;
    struct shape shape = piece->shape;
    size_t run, n_runs;
    char *to;
    int axis;
    enum assay_status st;

    if (shape.rank == SHAPE_MAX_RANK)
        return error_set(err, ASSAY_UNSUPPORTED,
                         "what a loop leaves has more than %d dimensions",
                         SHAPE_MAX_RANK);
    st = axis_resolve(wanted_axis, shape.rank + 1, &axis, err);
    if (st)
        return st;
    memmove(&shape.dims[axis + 1], &shape.dims[axis],
            (size_t)(shape.rank - axis) * sizeof shape.dims[0]);
    shape.dims[axis] = (int64_t)pieces->n;
    shape.rank++;
    st = tensor_new(pool, piece->dtype, &shape, out, err);
    if (st)
        return st;
    run = bytes_behind(piece, axis);
    n_runs = (size_t)shape_span(&piece->shape, 0, axis);
    to = tensor_data(out);
    for (size_t r = 0; r < n_runs; r++) {
        for (size_t i = 0; i < pieces->n; i++) {
            size_t at = is_reverse ? pieces->n - 1 - i : i;

            memcpy(to, (char *)tensor_data(&pieces->items[at]) + r * run, run);
            to += run;
        }
    }
    return ASSAY_OK;
}

enum assay_status take_slice(const struct tensor *from, int axis, int64_t i,
                             struct pool *pool, struct tensor *out,
                             struct error *err)
{
    struct shape shape = from->shape;
    size_t run = bytes_behind(from, axis + 1);
    size_t n_runs = (size_t)shape_span(&from->shape, 0, axis);
    size_t stride = run * (size_t)from->shape.dims[axis];
    enum assay_status st;

    shape.rank--;
    memmove(&shape.dims[axis], &shape.dims[axis + 1],
            (size_t)(shape.rank - axis) * sizeof shape.dims[0]);
    st = tensor_new(pool, from->dtype, &shape, out, err);
    for (size_t r = 0; !st && r < n_runs; r++)
        memcpy((char *)tensor_data(out) + r * run,
               (char *)tensor_data(from) + r * stride + (size_t)i * run, run);
    return st;
}
