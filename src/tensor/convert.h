/* tensor/convert.h - elements of one type as another.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TENSOR_CONVERT_H
#define TENSOR_CONVERT_H

#include "tensor/tensor.h"

/* The smallest of float32, float64, int64 and uint64 that holds every value of
 * a type: what kernels compute the rarer types in. */
enum dtype dtype_wide(enum dtype dtype);
bool dtype_is_float(enum dtype dtype);
bool dtype_is_signed(enum dtype dtype); /* holds negative values */

struct small_float;
/* The format of a type of 8 bits or less (small_float.h); NULL if it has none.
 */
const struct small_float *dtype_small_float(enum dtype dtype);

/* n elements at `from` into `to`, which do not overlap. Floating point values
 * are cut towards zero where integers are wanted, and held within 64 bits;
 * integers lose their upper bits in a smaller type; whatever is not 0 is
 * true. Floating point types of 8 bits or less hold what is too large at their
 * largest number. */
void convert_elements(enum dtype from_dtype, const void *from,
                      enum dtype to_dtype, void *to, size_t n);

/* A dense copy in another type. */
enum assay_status tensor_convert(struct pool *pool, const struct tensor *from,
                                 enum dtype dtype, struct tensor *out,
                                 struct error *err);

#endif
