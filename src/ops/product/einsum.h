/* ops/product/einsum.h - sums of products by Einstein's notation:
 * "bij,bjk->bik".
 *
 * Takes any number of inputs. Letters name dimensions, "..." those that are
 * broadcast. Without "->" the result has the letters that occur once, in
 * alphabetical order.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_EINSUM_H
#define OPS_PRODUCT_EINSUM_H

#include "graph/graph.h"

enum { EINSUM_TEXT = 128 };

struct einsum_attrs {
    char equation[EINSUM_TEXT]; /* without blanks */
};

#endif
