/* ops/math/clip.h - limits values to a range; 0 to 6 is a ReLU6.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_CLIP_H
#define OPS_MATH_CLIP_H

#include "graph/graph.h"

struct clip_attrs {
    float low, high; /* infinite: no bound */
};

const struct clip_attrs *clip_attrs(const struct node *node);

#endif
