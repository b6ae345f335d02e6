/* backend/cuda/cuda_walk.h - tensors as arrays of any strides, for kernels that
 * go through several of them at once (kernels/prelude.cuh).
 *
 * Views are of the memory: their dimensions are those of the tensor, whatever
 * the order it is stored in, and their type is the stored one.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BACKEND_CUDA_CUDA_WALK_H
#define BACKEND_CUDA_CUDA_WALK_H

#include "backend/cuda/cuda_internal.h"

enum { CUDA_WALK_RANK = 10 };

struct cuda_view {
    cu_pointer data;
    int type; /* enum dtype */
    int64_t strides[CUDA_WALK_RANK];
};

struct cuda_walk {
    int64_t n; /* elements */
    int rank;
    int64_t dims[CUDA_WALK_RANK];
};

/* A tensor as it lies in memory. */
struct cuda_view cuda_view_of(const struct tensor *x);
/* The same repeated to a shape, by the rules of broadcasting. */
struct cuda_view cuda_view_repeated(const struct tensor *x,
                                    const struct shape *to);
/* All of a shape, in the order in which the last view lies in memory; merges
 * what is contiguous in all of them. The strides of the views are changed to
 * fit. */
struct cuda_walk cuda_walk_over(const struct shape *shape,
                                struct cuda_view *const *views, int n_views);
struct cuda_walk cuda_walk_dims(int rank, const int64_t *dims,
                                struct cuda_view *const *views, int n_views);

/* Whether a type is computed in float, double, int64, uint64 or bool: the last
 * part of the names of kernels. */
const char *cuda_computed_in(enum dtype dtype);

/* Copies elements from one view to another of the same dimensions, with a
 * change of the stored type where they differ. */
enum assay_status cuda_copy_view(struct cuda_call *call, int rank,
                                 const int64_t *dims, struct cuda_view from,
                                 struct cuda_view to);

/* Rows of c elements that become rows of `wide`, with zeros after them; from
 * one row to the next there are in_x and in_y elements. */
struct cuda_rows {
    int64_t rows, c, wide, in_x, in_y;
};

/* Whether there is a kernel for short rows of elements of that size. */
bool cuda_are_short_rows(const struct cuda_rows *rows, size_t bytes);
enum assay_status cuda_copy_rows(struct cuda_call *call,
                                 const struct cuda_rows *rows, size_t bytes,
                                 cu_pointer x, cu_pointer y);

/* A few numbers of the host's, for a kernel to read: the last thing to do about
 * a shape. */
enum assay_status cuda_put_numbers(struct cuda_call *call,
                                   const int64_t *numbers, size_t n,
                                   const struct tensor *to);
/* Back to the host: waits for everything that is queued. */
enum assay_status cuda_read_back(struct cuda_call *call, cu_pointer from,
                                 void *to, size_t bytes);

/* Number i of an input that is on the host. */
int64_t cuda_host_number(const struct tensor *x, size_t i);
/* An axis from -rank on, counted from 0. */
int cuda_axis(int64_t axis, int rank);
/* Elements of dims [first, last). */
int64_t cuda_span(const struct shape *shape, int first, int last);

#endif
