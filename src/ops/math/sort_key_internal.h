/* ops/math/sort_key_internal.h - elements of any type as numbers that sort like
 * them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_MATH_SORT_KEY_INTERNAL_H
#define OPS_MATH_SORT_KEY_INTERNAL_H

#include "tensor/tensor.h"

/* Element i of a tensor of a wide type (tensor/convert.h) or bool: the smaller
 * number is the smaller element. A NaN comes after all others. */
uint64_t sort_key(const struct tensor *tensor, size_t i);

#endif
