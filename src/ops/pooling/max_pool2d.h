/* ops/pooling/max_pool2d.h - the largest value of each window.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_POOLING_MAX_POOL2D_H
#define OPS_POOLING_MAX_POOL2D_H

#include "graph/graph.h"

struct max_pool2d_attrs {
    int64_t kernel[2], stride[2]; /* vertical, horizontal */
    int64_t before[2], after[2];  /* padding, which never wins */
    bool ceil; /* counts a last window that is only partly inside */
};

const struct max_pool2d_attrs *max_pool2d_attrs(const struct node *node);

#endif
