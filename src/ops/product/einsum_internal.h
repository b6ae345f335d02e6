/* ops/product/einsum_internal.h - the sums of an Einsum as loops, and those of
 * them that are products of matrices.
 *
 * SPDX-License-Identifier: MIT */
#ifndef OPS_PRODUCT_EINSUM_INTERNAL_H
#define OPS_PRODUCT_EINSUM_INTERNAL_H

#include "ops/product/einsum.h"
#include "ops/strided_internal.h"

enum { NEST_AXES = 2 * SHAPE_MAX_RANK, NEST_INPUTS = 8 };

/* The loop nest, one entry per axis. */
struct nest {
    unsigned char labels[NEST_AXES];
    int64_t sizes[NEST_AXES];
    int64_t strides[NEST_INPUTS][NEST_AXES];
    int n_axes, n_kept; /* the first n_kept are the result's */
    size_t n_inputs;
};

/* Whether it is a batch of products of two matrices, whatever the order of the
 * axes; not if one input alone is summed over an axis. */
bool nest_is_product(const struct nest *nest);

/* Only if it is one and no size is 0. The types are those of
 * matrix_multiply(). */
enum assay_status nest_multiply(const struct op_context *context,
                                const struct nest *nest,
                                const struct tensor *const *inputs,
                                const struct tensor *y, struct error *err);

#endif
