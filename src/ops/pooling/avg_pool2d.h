/* ops/pooling/avg_pool2d.h - the mean of each window.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_POOLING_AVG_POOL2D_H
#define OPS_POOLING_AVG_POOL2D_H

#include "graph/graph.h"

struct avg_pool2d_attrs {
    int64_t kernel[2], stride[2]; /* vertical, horizontal */
    int64_t before[2], after[2];  /* padding with zeros */
    bool ceil;           /* counts a last window that is only partly inside */
    bool counts_padding; /* the mean includes the zeros */
};

const struct avg_pool2d_attrs *avg_pool2d_attrs(const struct node *node);

#endif
