/* ops/math/bit_cast.h - the same bits as another type of the same size.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_BIT_CAST_H
#define OPS_MATH_BIT_CAST_H

#include "graph/graph.h"

struct bit_cast_attrs {
    enum dtype dtype;
};

#endif
