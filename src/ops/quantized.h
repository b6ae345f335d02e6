/* ops/quantized.h - reading and writing numbers of few bits.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_QUANTIZED_H
#define OPS_QUANTIZED_H

#include "graph/graph.h"

/* Element i of a tensor of integers. */
int64_t quantized_zero(const struct tensor *tensor, size_t i);

/* value, rounded to the nearest (ties to even), plus zero, held within the
 * type. */
void quantized_store(enum dtype dtype, double value, int64_t zero, void *to);

#endif
