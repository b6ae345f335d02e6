/* ops/control/kept_pieces_internal.h - what every iteration of a loop leaves,
 * and all of it as one tensor.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_CONTROL_KEPT_PIECES_INTERNAL_H
#define OPS_CONTROL_KEPT_PIECES_INTERNAL_H

#include "graph/graph.h"

struct kept_pieces {
    struct tensor *items;
    size_t n, capacity;
};

/* Start from {0}. */
void kept_pieces_release(struct kept_pieces *pieces);

/* Takes the piece over, also on failure. All must have one type and shape. */
enum assay_status kept_pieces_add(struct kept_pieces *pieces,
                                  struct tensor piece, struct error *err);

/* All of them along a new axis, the last one first where that is asked for. */
enum assay_status kept_pieces_stack(const struct kept_pieces *pieces,
                                    int64_t axis, bool is_reverse,
                                    struct pool *pool, struct tensor *out,
                                    struct error *err);

/* The i-th slice of a tensor along an axis, which goes. */
enum assay_status take_slice(const struct tensor *from, int axis, int64_t i,
                             struct pool *pool, struct tensor *out,
                             struct error *err);

#endif
