/* ops/int_list_internal.h - the small lists of integers that shape a result:
 * axes, sizes, pads, as an input or as attributes give them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_INT_LIST_INTERNAL_H
#define OPS_INT_LIST_INTERNAL_H

#include "graph/graph.h"

enum { INT_LIST_MAX = 64 };

struct int_list {
    size_t n;
    int64_t of[INT_LIST_MAX];
};

/* Reads an input of any integer type and at most one dimension. NULL gives an
 * empty list; without data it is ASSAY_UNSUPPORTED. */
enum assay_status int_list_read(const struct tensor *tensor,
                                struct int_list *list, struct error *err);
/* One integer; fallback where the input is left out. */
enum assay_status int_read(const struct tensor *tensor, int64_t fallback,
                           int64_t *value, struct error *err);

/* Element i of a tensor of integers, of any length. */
int64_t int_at(const struct tensor *tensor, size_t i);

/* An axis from -rank to rank - 1 as one from 0. */
enum assay_status axis_resolve(int64_t axis, int rank, int *resolved,
                               struct error *err);
/* Bit i: axis i is in the list. An axis that comes twice is an error. */
enum assay_status axes_resolve(const struct int_list *list, int rank,
                               unsigned *axes, struct error *err);

/* That an input holds signed integers, which kernels get as int64. */
enum assay_status indices_check(const struct tensor *const *inputs,
                                size_t input, struct error *err);

/* Elements in dims [first, last) of a shape. */
int64_t shape_span(const struct shape *shape, int first, int last);

#endif
