/* ops/int_list_internal.h - reads axes, sizes, pads and other settings from
 * inputs.
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

/* Reads an input of any integer type and at most one dimension. NULL makes an
 * empty list; an input that has no data yet is ASSAY_UNSUPPORTED. */
enum assay_status int_list_read(const struct tensor *tensor,
                                struct int_list *list, struct error *err);
/* Reads a shape; ASSAY_UNSUPPORTED if it has too many dimensions. */
enum assay_status shape_read(const struct tensor *tensor, struct shape *shape,
                             struct error *err);
/* Reads one integer; NULL makes it `fallback`. */
enum assay_status int_read(const struct tensor *tensor, int64_t fallback,
                           int64_t *value, struct error *err);

/* ASSAY_UNSUPPORTED if an input that decides a shape has no data yet. */
enum assay_status setting_check(const struct tensor *tensor, struct error *err);
/* ASSAY_UNSUPPORTED if a result has more than SHAPE_MAX_RANK dimensions. */
enum assay_status rank_check(size_t rank, struct error *err);

/* Element i of a tensor of any type. */
int64_t int_at(const struct tensor *tensor, size_t i);
double number_at(const struct tensor *tensor, size_t i);
void number_put(const struct tensor *tensor, size_t i, double value);

/* Turns an axis from -rank to rank - 1 into one from 0. */
enum assay_status axis_resolve(int64_t axis, int rank, int *resolved,
                               struct error *err);
/* Bit i: axis i is in the list. An axis listed twice is an error. */
enum assay_status axes_resolve(const struct int_list *list, int rank,
                               unsigned *axes, struct error *err);

/* Checks that an input holds signed integers, which kernels get as int64. */
enum assay_status indices_check(const struct tensor *const *inputs,
                                size_t input, struct error *err);

/* Elements in dims [first, last) of a shape. */
int64_t shape_span(const struct shape *shape, int first, int last);

#endif
