/* ops/norm/group_norm.h - GroupNorm and RMSNorm, which take their statistics
 * from the data.
 *
 * GroupNorm: x [n,c,...], scale [c], bias [c]; normalises groups of channels.
 * RMSNorm: x, scale (any shape that repeats to x); divides by the root of the
 *   mean square over the dimensions from an axis on.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_NORM_GROUP_NORM_H
#define OPS_NORM_GROUP_NORM_H

#include "graph/graph.h"

struct group_norm_attrs {
    int64_t groups;
    float eps;
};

struct rms_norm_attrs {
    int64_t axis;
    float eps;
};

#endif
