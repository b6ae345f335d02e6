/* ops/product/quantized_internal.h - writing numbers of few bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_QUANTIZED_INTERNAL_H
#define OPS_PRODUCT_QUANTIZED_INTERNAL_H

#include "graph/graph.h"

/* value, rounded to the nearest (ties to even), plus zero, held within the
 * type. */
void quantized_store(enum dtype dtype, double value, int64_t zero, void *to);

#endif
