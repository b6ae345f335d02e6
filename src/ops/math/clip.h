/* ops/math/clip.h - values kept between two bounds; 0 and 6 make a ReLU6.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_CLIP_H
#define OPS_MATH_CLIP_H

#include "graph/graph.h"

struct clip_attrs {
    float low, high; /* infinite where there is no bound */
};

const struct clip_attrs *clip_attrs(const struct node *node);

#endif
