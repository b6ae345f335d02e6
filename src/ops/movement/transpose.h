/* ops/movement/transpose.h - reorders the dimensions.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_TRANSPOSE_H
#define OPS_MOVEMENT_TRANSPOSE_H

#include "graph/graph.h"

struct transpose_attrs {
    int rank;                      /* 0: all dimensions in reverse */
    int64_t order[SHAPE_MAX_RANK]; /* output i is input order[i] */
};

/* Which dimension of x each one of y is. */
enum assay_status transpose_order(const struct node *node,
                                  const struct shape *x, int *order,
                                  struct error *err);

#endif
