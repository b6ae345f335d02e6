/* ops/pooling/pool_nd.h - poolings of any kind: in 1 to 3 dimensions, dilated,
 * with the places of the largest values, of any power. MaxPool2d and AvgPool2d
 * do the common ones faster.
 *
 * Inputs: x [n,c,...]; MaxUnpool also the places [n,c,...] and, or left out,
 * the shape of y.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_POOLING_POOL_ND_H
#define OPS_POOLING_POOL_ND_H

#include "ops/convolution/window.h"

struct pool_nd_attrs {
    struct window window;
    bool counts_padding; /* AvgPoolNd: zeros are among what is divided by */
    bool is_by_column;   /* MaxPoolNd: places count down the columns first */
    int64_t power;       /* LpPoolNd: p of the norm */
};

extern const struct attr_field pool_nd_fields[];

#endif
