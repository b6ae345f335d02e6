/* ops/pooling/pool_nd.h - general poolings: in 1 to 3 dimensions, dilated, with
 * the indices of the largest values, or of any power; and MaxUnpool, which puts
 * the largest values back. MaxPool2d and AvgPool2d do the common ones faster.
 *
 * Inputs: x [n,c,...]; for MaxUnpool also the indices [n,c,...] and the shape
 * of y (left out: from the window).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_POOLING_POOL_ND_H
#define OPS_POOLING_POOL_ND_H

#include "ops/convolution/window.h"

struct pool_nd_attrs {
    struct window window;
    bool counts_padding; /* AvgPoolNd: the mean includes the zeros */
    bool is_by_column;   /* MaxPoolNd: indices go down the columns first */
    int64_t power;       /* LpPoolNd: p of the norm */
};

#endif
