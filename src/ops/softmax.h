/* ops/softmax.h - exp(x) / sum of exp(x) along a dimension.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_SOFTMAX_H
#define OPS_SOFTMAX_H

#include "graph/graph.h"

struct softmax_attrs {
    int axis; /* negative: counted from the last one */
};

const struct softmax_attrs *softmax_attrs(const struct node *node);

#endif
