/* ops/strided_internal.h - walking several arrays of one shape at once, each
 * with strides of its own.
 *
 * Dimensions that lie one behind the other in every array are walked as one,
 * so that what is dense in memory comes as one long row. Strides are in
 * elements; 0 repeats a value, negative ones go backwards.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_STRIDED_INTERNAL_H
#define OPS_STRIDED_INTERNAL_H

#include "graph/graph.h"

struct strides {
    int64_t of[SHAPE_MAX_RANK];
};

/* Of a dense array. */
struct strides strides_dense(const struct shape *shape);
/* Of a dense array `from` that is repeated to fill `to`, by NumPy's rules of
 * broadcasting; from must fit. */
struct strides strides_repeat(const struct shape *from, const struct shape *to);

enum { WALK_ARRAYS = 4 };

struct walk {
    int rank; /* of the outer dimensions */
    int64_t dims[SHAPE_MAX_RANK];
    struct strides strides[WALK_ARRAYS];
    int n_arrays;
    int64_t n_rows;
    int64_t length;             /* elements of a row */
    int64_t steps[WALK_ARRAYS]; /* from one to the next */
    int64_t index[SHAPE_MAX_RANK];
    int64_t at[WALK_ARRAYS]; /* where the row begins in each array */
};

struct walk walk_start(const struct shape *shape, const struct strides *strides,
                       int n_arrays);
/* Goes to a row, for a thread that begins there. */
void walk_seek(struct walk *walk, int64_t row);
/* Goes to the next one. */
void walk_next(struct walk *walk);

/* Copies elements of 1, 2, 4 or 8 bytes. */
void strided_copy(const struct op_context *context, const struct shape *shape,
                  size_t element_bytes, const void *from,
                  const struct strides *from_strides, void *to,
                  const struct strides *to_strides);

/* The shape that all of them are repeated to; ASSAY_BAD_INPUT with two that
 * contradict each other. n may be 0: a scalar. */
enum assay_status strided_broadcast(const struct tensor *const *inputs,
                                    size_t n, struct shape *shape,
                                    struct error *err);

#endif
