/* ops/pooling/adaptive_avg_pool2d.h - means of windows that divide a map into a
 * given number of rows and columns; 1x1 is the global mean. Window i of n over
 * size pixels goes from floor(i * size / n) to ceil((i + 1) * size / n).
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_POOLING_ADAPTIVE_AVG_POOL2D_H
#define OPS_POOLING_ADAPTIVE_AVG_POOL2D_H

#include "graph/graph.h"

struct adaptive_avg_pool2d_attrs {
    int64_t size[2]; /* rows, columns */
};

#endif
