/* ops/strided_internal.h - walks several arrays of one shape at once, each with
 * its own strides.
 *
 * Dimensions that are contiguous in every array are merged, so that dense
 * memory is one long row. Strides are in elements; 0 repeats a value, negative
 * ones go backwards.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_STRIDED_INTERNAL_H
#define OPS_STRIDED_INTERNAL_H

#include "graph/graph.h"

struct strides {
    int64_t of[SHAPE_MAX_RANK];
};

struct strides strides_dense(const struct shape *shape);
/* Strides of a dense array `from` broadcast to `to` by NumPy's rules; it must
 * fit. */
struct strides strides_repeat(const struct shape *from, const struct shape *to);

enum { WALK_ARRAYS = 4 };

struct walk {
    int rank; /* of the outer dimensions */
    int64_t dims[SHAPE_MAX_RANK];
    struct strides strides[WALK_ARRAYS];
    int n_arrays;
    int64_t n_rows;
    int64_t length;             /* elements of a row */
    int64_t steps[WALK_ARRAYS]; /* between elements of a row */
    int64_t index[SHAPE_MAX_RANK];
    int64_t at[WALK_ARRAYS]; /* where the row begins in each array */
};

struct walk walk_start(const struct shape *shape, const struct strides *strides,
                       int n_arrays);
/* Goes to a row, for a thread that starts there. */
void walk_seek(struct walk *walk, int64_t row);
void walk_next(struct walk *walk);

/* Copies elements of 1, 2, 4 or 8 bytes. */
void strided_copy(const struct op_context *context, const struct shape *shape,
                  size_t element_bytes, const void *from,
                  const struct strides *from_strides, void *to,
                  const struct strides *to_strides);

/* Fills dense y with the elements of x that start at element `first` and lie
 * at these strides. */
void strided_take(const struct op_context *context, const struct tensor *x,
                  int64_t first, const struct strides *strides,
                  const struct tensor *y);
/* The other way round: writes all of dense x to places in y. */
void strided_put(const struct op_context *context, const struct tensor *x,
                 const struct tensor *y, int64_t first,
                 const struct strides *strides);

/* Sets all elements of y to *element. */
void strided_fill(const struct tensor *y, const void *element);

/* The shape that n inputs broadcast to; a scalar if n is 0. ASSAY_BAD_INPUT
 * names two that do not fit. */
enum assay_status strided_broadcast(const struct tensor *const *inputs,
                                    size_t n, struct shape *shape,
                                    struct error *err);

#endif
