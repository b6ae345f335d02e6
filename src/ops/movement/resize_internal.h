/* ops/movement/resize_internal.h - how the axes of a Resize change; for
 * resize.c and resize_backward.c.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MOVEMENT_RESIZE_INTERNAL_H
#define OPS_MOVEMENT_RESIZE_INTERNAL_H

#include "ops/movement/resize.h"

enum resize_input { RESIZE_X, RESIZE_ROI, RESIZE_SCALES, RESIZE_SIZES };

enum { RESIZE_TAPS = 4 };

/* What one new element is made of. */
struct resize_taps {
    int64_t at[RESIZE_TAPS];
    float weights[RESIZE_TAPS];
    bool is_outside;
};

/* How an axis changes. */
struct resize_axis {
    int64_t from, to;  /* sizes */
    double scale;      /* as it was given, or as the sizes say */
    double start, end; /* of the region, as shares */
};

/* All axes of x. */
enum assay_status resize_axes(const struct node *node,
                              const struct tensor *const *inputs,
                              struct resize_axis *axes, struct error *err);
/* Whether an axis stays as it is. */
bool resize_is_kept(const struct resize_axis *axis);
struct resize_taps resize_make_taps(const struct resize_attrs *attrs,
                                    const struct resize_axis *axis, int64_t i);

/* For the class. */
enum assay_status resize_backward(const struct op_context *context,
                                  const struct node *node,
                                  const struct op_backward *pass,
                                  struct error *err);

#endif
